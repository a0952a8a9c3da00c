BEGIN TRANSACTION;
CREATE TABLE web_jobs (
	id VARCHAR(32) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	log VARCHAR(32), 
	user VARCHAR(200) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	rank INTEGER NOT NULL, 
	asked FLOAT NOT NULL, 
	ended FLOAT, 
	spec JSON NOT NULL, 
	result JSON, 
	problem TEXT, 
	once VARCHAR(80), 
	PRIMARY KEY (id), 
	UNIQUE (once)
);
INSERT INTO "web_jobs" VALUES('834985501933d61c0b07c82c80dac184','release','a039252eabea643fc6a80e156a87fd8b','Stu','done',0,1.79512347238562965396e+09,1.79512347569505858416e+09,'{"log": "/srv/logs/permits.csv", "reading": {}, "choice": {"what": "variants", "mechanism": "travas", "suffix": ".csv", "parameters": {"epsilon": 1.0}}, "source": "town", "purpose": "a report", "stem": "town", "language": "en"}','{"files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"], "entry": 2, "summary": {"mechanism": "travas", "what": "262 cases, 3 variants", "epsilon": 1.0, "delta": 1e-06, "level": "strong protection", "digest": "9ae081a60c112246e6b6348a9a71209a3ce6d305cd7354e4a3eec9c6d8cd3b0d", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}}','','27a7fc6bd7bf4791f0edc3bd64a87aac report-2024');
INSERT INTO "web_jobs" VALUES('a96fa0dc0167d5d10402e936c460f52c','release','a039252eabea643fc6a80e156a87fd8b','mara','done',0,1.7951234757049696445e+09,1.79512347833298707006e+09,'{"log": "/srv/logs/permits.csv", "reading": {}, "choice": {"what": "variants", "mechanism": "travas", "suffix": ".csv", "parameters": {"epsilon": 0.1, "delta": 1e-07}}, "source": "town", "purpose": "what mara wants", "stem": "town", "language": "en"}','{"files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"], "entry": 4, "summary": {"mechanism": "travas", "what": "207 cases, 1 variants", "epsilon": 0.1, "delta": 1e-07, "level": "strong protection", "digest": "070c80459967676d6665d49ebb7bf6c73f1aa7a4665eba9e553357bde047e81f", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}}','','request 144eb8437b74e3b41956e695f54a3482');
INSERT INTO "web_jobs" VALUES('21e85bfbfabe1917898745416d41d1d4','release','a039252eabea643fc6a80e156a87fd8b','Ana','done',0,1.79512347835702824588e+09,1.79512348178503918644e+09,'{"log": "/srv/logs/permits.csv", "reading": {}, "choice": {"what": "variants", "mechanism": "travas", "suffix": ".csv", "parameters": {"epsilon": 0.1, "delta": 1e-07}}, "source": "town", "purpose": "what Ana wants", "stem": "town", "language": "en"}','{"files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"], "entry": 6, "summary": {"mechanism": "travas", "what": "211 cases, 1 variants", "epsilon": 0.1, "delta": 1e-07, "level": "strong protection", "digest": "27f453f93286401c3e39585ae86cccc1629d826f77b43c85036d2c95a5879140", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}}','','request a534851a2afa2c7255a64c9f9764cf05');
INSERT INTO "web_jobs" VALUES('212dea58cbddb8970a6df89adc553b38','verify',NULL,'mara','done',1,1.79512348183254718779e+09,1.79512348451358079914e+09,'{"file": "/srv/web/uploads/182106bf839e962a8bb0ec2c4383cea9/file.certificate.json", "name": "x.csv", "language": "en"}','{}','',NULL);
INSERT INTO "web_jobs" VALUES('6eb8a069a85dd8d73f8bdf93f649dae8','release','a039252eabea643fc6a80e156a87fd8b','mara','done',0,1.79512348861572694773e+09,1.79512349201924920082e+09,'{"log": "/srv/logs/permits.csv", "reading": {}, "choice": {"what": "variants", "mechanism": "travas", "suffix": ".csv", "parameters": {"epsilon": 0.2, "delta": 1e-07}}, "source": "town", "purpose": "what the second mara wants", "stem": "town", "language": "en"}','{"files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"], "entry": 8, "summary": {"mechanism": "travas", "what": "212 cases, 1 variants", "epsilon": 0.2, "delta": 1e-07, "level": "strong protection", "digest": "80f4421d6cd3b4327b37db0cfd344f983c209c0b98ceb8ce77e85339ace02a47", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}}','','request 08843f3b7fd74d85fd3e674d3b77bf8b');
CREATE TABLE web_logs (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(300) NOT NULL, 
	file TEXT NOT NULL, 
	uploaded BOOLEAN NOT NULL, 
	user VARCHAR(200) NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	reading JSON NOT NULL, 
	choice JSON NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "web_logs" VALUES('a039252eabea643fc6a80e156a87fd8b','permits.csv','/srv/logs/permits.csv',0,'Stu','2026-11-19 21:24:32','{}','{"what": "variants", "mechanism": "travas", "suffix": ".csv", "parameters": {"epsilon": 1.0}}');
CREATE TABLE web_offers (
	id VARCHAR(32) NOT NULL, 
	source VARCHAR(200) NOT NULL, 
	log VARCHAR(32) NOT NULL, 
	choice JSON NOT NULL, 
	about TEXT NOT NULL, 
	at_once FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (source)
);
INSERT INTO "web_offers" VALUES('ff6a773f561f7235a0de66463b3557ee','town','a039252eabea643fc6a80e156a87fd8b','{"what": "variants", "mechanism": "travas", "suffix": ".csv", "parameters": {"epsilon": 1.0}}','permits of a town',0.5);
CREATE TABLE web_releases (
	id VARCHAR(32) NOT NULL, 
	job VARCHAR(32) NOT NULL, 
	user VARCHAR(200) NOT NULL, 
	source VARCHAR(200) NOT NULL, 
	purpose TEXT NOT NULL, 
	file VARCHAR(200) NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	summary JSON NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "web_releases" VALUES('834985501933d61c0b07c82c80dac184','834985501933d61c0b07c82c80dac184','Stu','town','a report','town.csv','2026-11-19 21:24:32','{"mechanism": "travas", "what": "262 cases, 3 variants", "epsilon": 1.0, "delta": 1e-06, "level": "strong protection", "digest": "9ae081a60c112246e6b6348a9a71209a3ce6d305cd7354e4a3eec9c6d8cd3b0d", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}');
INSERT INTO "web_releases" VALUES('a96fa0dc0167d5d10402e936c460f52c','a96fa0dc0167d5d10402e936c460f52c','mara','town','what mara wants','town.csv','2026-11-19 21:24:35','{"mechanism": "travas", "what": "207 cases, 1 variants", "epsilon": 0.1, "delta": 1e-07, "level": "strong protection", "digest": "070c80459967676d6665d49ebb7bf6c73f1aa7a4665eba9e553357bde047e81f", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}');
INSERT INTO "web_releases" VALUES('21e85bfbfabe1917898745416d41d1d4','21e85bfbfabe1917898745416d41d1d4','Ana','town','what Ana wants','town.csv','2026-11-19 21:24:38','{"mechanism": "travas", "what": "211 cases, 1 variants", "epsilon": 0.1, "delta": 1e-07, "level": "strong protection", "digest": "27f453f93286401c3e39585ae86cccc1629d826f77b43c85036d2c95a5879140", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}');
INSERT INTO "web_releases" VALUES('6eb8a069a85dd8d73f8bdf93f649dae8','6eb8a069a85dd8d73f8bdf93f649dae8','mara','town','what the second mara wants','town.csv','2026-11-19 21:24:48','{"mechanism": "travas", "what": "212 cases, 1 variants", "epsilon": 0.2, "delta": 1e-07, "level": "strong protection", "digest": "80f4421d6cd3b4327b37db0cfd344f983c209c0b98ceb8ce77e85339ace02a47", "files": ["town.csv", "town.csv.certificate.json", "town.csv.certificate.html", "picture.svg"]}');
CREATE TABLE web_requests (
	id VARCHAR(32) NOT NULL, 
	offer VARCHAR(32) NOT NULL, 
	source VARCHAR(200) NOT NULL, 
	user VARCHAR(200) NOT NULL, 
	asked FLOAT NOT NULL, 
	purpose TEXT NOT NULL, 
	epsilon FLOAT NOT NULL, 
	delta FLOAT NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	answer TEXT NOT NULL, 
	decided FLOAT, 
	job VARCHAR(32), 
	PRIMARY KEY (id)
);
INSERT INTO "web_requests" VALUES('144eb8437b74e3b41956e695f54a3482','ff6a773f561f7235a0de66463b3557ee','town','mara',1.79512347570359873764e+09,'what mara wants',0.1,1.0e-07,'at once','',NULL,'a96fa0dc0167d5d10402e936c460f52c');
INSERT INTO "web_requests" VALUES('a534851a2afa2c7255a64c9f9764cf05','ff6a773f561f7235a0de66463b3557ee','town','Ana',1.79512347835595369336e+09,'what Ana wants',0.1,1.0e-07,'at once','',NULL,'21e85bfbfabe1917898745416d41d1d4');
INSERT INTO "web_requests" VALUES('08843f3b7fd74d85fd3e674d3b77bf8b','ff6a773f561f7235a0de66463b3557ee','town','mara',1.7951234886145544052e+09,'what the second mara wants',0.2,1.0e-07,'at once','',NULL,'6eb8a069a85dd8d73f8bdf93f649dae8');
CREATE TABLE web_sessions (
	"key" VARCHAR(64) NOT NULL, 
	user VARCHAR(32) NOT NULL, 
	csrf VARCHAR(64) NOT NULL, 
	began FLOAT NOT NULL, 
	seen FLOAT NOT NULL, 
	PRIMARY KEY ("key"), 
	FOREIGN KEY(user) REFERENCES web_users (id)
);
INSERT INTO "web_sessions" VALUES('cf24d144fa0977408ff40c6a7bc9fa782c4e846e9fa59deae2dd433ddd06a36e','f78384c0a414d47f2b2f2772cca66621','pl4nbnP5sq9uRJTdTURwptNUXIouaZNy',1.7951234708120651245e+09,1.7951234708120651245e+09);
CREATE TABLE web_tokens (
	"key" VARCHAR(64) NOT NULL, 
	id VARCHAR(32) NOT NULL, 
	user VARCHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	made VARCHAR(32) NOT NULL, 
	PRIMARY KEY ("key"), 
	UNIQUE (id), 
	FOREIGN KEY(user) REFERENCES web_users (id)
);
INSERT INTO "web_tokens" VALUES('0833cc68b305b4d9e768c3eeda9fc401026ef739f6aeafd7df37756bb330c056','3a2f3cd0d4af6ff8cf25ed4eb007f9a5','27a7fc6bd7bf4791f0edc3bd64a87aac','nightly','2026-11-19 21:24:35');
INSERT INTO "web_tokens" VALUES('12335a80fd81fd8a547319642c4246b883a96902928fdfaf14aef1c9467fce32','fc79c9ad12e32eda3ca6c0e7b5bcb8f6','1607c1f550cfd891074b727b3414696c','of the second','2026-11-19 21:24:52');
CREATE TABLE web_trail (
	number INTEGER NOT NULL, 
	time VARCHAR(32) NOT NULL, 
	user VARCHAR(200) NOT NULL, 
	did VARCHAR(40) NOT NULL, 
	what TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "web_trail" VALUES(1,'2026-11-19 21:24:30','root','entered','by link');
INSERT INTO "web_trail" VALUES(2,'2026-11-19 21:24:31','root','let in','Stu (steward)');
INSERT INTO "web_trail" VALUES(3,'2026-11-19 21:24:31','root','let in','mara (analyst)');
INSERT INTO "web_trail" VALUES(4,'2026-11-19 21:24:32','root','let in','Ana (analyst)');
INSERT INTO "web_trail" VALUES(5,'2026-11-19 21:24:32','Stu','brought a log','permits.csv');
INSERT INTO "web_trail" VALUES(6,'2026-11-19 21:24:32','Stu','offered','town');
INSERT INTO "web_trail" VALUES(7,'2026-11-19 21:24:32','Stu','asked to release','town, job 834985501933d61c0b07c82c80dac184');
INSERT INTO "web_trail" VALUES(8,'2026-11-19 21:24:35','Stu','released','town, entry 2');
INSERT INTO "web_trail" VALUES(9,'2026-11-19 21:24:35','Stu','made a token','nightly');
INSERT INTO "web_trail" VALUES(10,'2026-11-19 21:24:35','mara','asked for','town, ε = 0.1');
INSERT INTO "web_trail" VALUES(11,'2026-11-19 21:24:35','mara','asked to release','town, job a96fa0dc0167d5d10402e936c460f52c');
INSERT INTO "web_trail" VALUES(12,'2026-11-19 21:24:38','mara','released','town, entry 4');
INSERT INTO "web_trail" VALUES(13,'2026-11-19 21:24:38','Ana','asked for','town, ε = 0.1');
INSERT INTO "web_trail" VALUES(14,'2026-11-19 21:24:38','Ana','asked to release','town, job 21e85bfbfabe1917898745416d41d1d4');
INSERT INTO "web_trail" VALUES(15,'2026-11-19 21:24:41','Ana','released','town, entry 6');
INSERT INTO "web_trail" VALUES(16,'2026-11-19 21:24:45','Stu','removed','mara');
INSERT INTO "web_trail" VALUES(17,'2026-11-19 21:24:45','Stu','removed','Ana');
INSERT INTO "web_trail" VALUES(18,'2026-11-19 21:24:47','Stu','let in','mara (analyst)');
INSERT INTO "web_trail" VALUES(19,'2026-11-19 21:24:48','mara','asked for','town, ε = 0.2');
INSERT INTO "web_trail" VALUES(20,'2026-11-19 21:24:48','mara','asked to release','town, job 6eb8a069a85dd8d73f8bdf93f649dae8');
INSERT INTO "web_trail" VALUES(21,'2026-11-19 21:24:52','mara','released','town, entry 8');
INSERT INTO "web_trail" VALUES(22,'2026-11-19 21:24:52','mara','made a token','of the second');
CREATE TABLE web_users (
	id VARCHAR(32) NOT NULL, 
	name VARCHAR(200) NOT NULL, 
	role VARCHAR(20) NOT NULL, 
	password TEXT, 
	active BOOLEAN NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "web_users" VALUES('f78384c0a414d47f2b2f2772cca66621','root','steward',NULL,1);
INSERT INTO "web_users" VALUES('27a7fc6bd7bf4791f0edc3bd64a87aac','Stu','steward','$argon2id$v=19$m=65536,t=3,p=4$M5fPA61cgNidhgMdVMQv7A$JbncdpCqrsEco8xQGXsk58NqqHdABqCg7IyoI2A8p0w',1);
INSERT INTO "web_users" VALUES('1607c1f550cfd891074b727b3414696c','mara','analyst','$argon2id$v=19$m=65536,t=3,p=4$EonWBhcfapP5ecFBRCHz9A$Z2PceYTMin+9UWuJUx0UYkt/n1Jff3Ld49Jk7CEuy74',1);
INSERT INTO "web_users" VALUES('b18036dcd02dfd468e9c15c2545a2d42','Ana','analyst','$argon2id$v=19$m=65536,t=3,p=4$6bD5m6WYrIq8MAW7DvQc0w$7yAcI7lxmVV8IPYwI3aig7cj8+yoM8+sLPfDqdi33Xc',0);
CREATE TABLE web_version (
	version INTEGER NOT NULL
);
INSERT INTO "web_version" VALUES(1);
CREATE INDEX ix_web_jobs_state ON web_jobs (state);
COMMIT;
