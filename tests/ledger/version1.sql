BEGIN TRANSACTION;
CREATE TABLE discreet_entries (
	number INTEGER NOT NULL, 
	source VARCHAR(200) NOT NULL, 
	kind VARCHAR(20) NOT NULL, 
	body TEXT NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "discreet_entries" VALUES(1,'town','budget','{"account":{"delta":1e-05,"epsilon":3,"filter":"best","limits":[{"amount":"3.0","delta":"0.000005","name":"basic"},{"amount":"0.19895938830324789","delta":"0.0000025","name":"zcdp"}],"neighbours":"add-remove","releases":0,"spent":{"delta":"0","epsilon":"0","mu_delta":"0","mu_squared":"0","rho":"0","rho_delta":"0"},"unit":"case"},"kind":"budget","number":1,"previous":"0000000000000000000000000000000000000000000000000000000000000000","purpose":"start","source":"town","time":"2026-11-16T14:38:29.887368+00:00","user":"ada"}','784a20fc0f37d074aebc25299ac20c2f9200e7fd4909f6547f4d608fb473d4cd');
INSERT INTO "discreet_entries" VALUES(2,'town','release','{"account":{"delta":1e-05,"epsilon":3,"filter":"best","limits":[{"amount":"3.0","delta":"0.000005","name":"basic"},{"amount":"0.19895938830324789","delta":"0.0000025","name":"zcdp"}],"neighbours":"add-remove","releases":1,"spent":{"delta":"0.000001","epsilon":"0.5","mu_delta":"0.000001","mu_squared":"0.38924196725389208230198310843881","rho":"0.125","rho_delta":"0.000001"},"unit":"case"},"cost":{"delta":"0.000001","epsilon":"0.5","mu_delta":"0.000001","mu_squared":"0.38924196725389208230198310843881","rho":"0.125","rho_delta":"0.000001"},"guarantee":{"cases_per_individual":null,"claimed":{"delta":1e-06,"epsilon":0.5},"composition":"one step","conditions":[],"holds":{"delta":1e-06,"epsilon":0.5},"neighbours":"add-remove","parts":[{"delta":1e-06,"epsilon":0.5,"name":"selection and counts of variants","rho":null}],"randomness":"operating system","reason":"A case changes the count of one variant by one, and each variant is shown or hidden with noise of its own.","status":"proved","unit":"case"},"kind":"release","mechanism":"travas","number":2,"parameters":{"cases_per_individual":null,"delta":1e-06,"epsilon":0.5,"fidelity":"strict"},"previous":"784a20fc0f37d074aebc25299ac20c2f9200e7fd4909f6547f4d608fb473d4cd","purpose":"","source":"town","time":"2026-11-16T14:38:31.628545+00:00","user":"ada"}','f725386cebf5497e1c97d12853cc3beabc16d29f5d3ad5bf67b35ac2342fcc6b');
INSERT INTO "discreet_entries" VALUES(3,'town','written','{"certificate":"442d457a6a3d3d573bff8b317a2f276e9d36a1938d5821a89eb52156dc7c6503","kind":"written","number":3,"previous":"f725386cebf5497e1c97d12853cc3beabc16d29f5d3ad5bf67b35ac2342fcc6b","release":2,"source":"town","time":"2026-11-16T14:38:31.637825+00:00","user":"ada"}','826d5ff1e25a5de6a6184b7a7da9b0784923a9d9755051d372f514cca5615f24');
INSERT INTO "discreet_entries" VALUES(4,'town','release','{"account":{"delta":1e-05,"epsilon":3,"filter":"best","limits":[{"amount":"3.0","delta":"0.000005","name":"basic"},{"amount":"0.19895938830324789","delta":"0.0000025","name":"zcdp"}],"neighbours":"add-remove","releases":2,"spent":{"delta":"0.000002","epsilon":"0.75","mu_delta":"0.000002","mu_squared":"0.4871981345455820157439344512769509","rho":"0.15625","rho_delta":"0.000002"},"unit":"case"},"cost":{"delta":"0.000001","epsilon":"0.25","mu_delta":"0.000001","mu_squared":"0.0979561672916899334419513428381409","rho":"0.03125","rho_delta":"0.000001"},"guarantee":{"cases_per_individual":null,"claimed":{"delta":1e-06,"epsilon":0.25},"composition":"one step","conditions":[],"holds":{"delta":1e-06,"epsilon":0.25},"neighbours":"add-remove","parts":[{"delta":1e-06,"epsilon":0.25,"name":"selection and counts of variants","rho":null}],"randomness":"operating system","reason":"A case changes the count of one variant by one, and each variant is shown or hidden with noise of its own.","status":"proved","unit":"case"},"kind":"release","mechanism":"travas","number":4,"parameters":{"cases_per_individual":null,"delta":1e-06,"epsilon":0.25,"fidelity":"strict"},"previous":"826d5ff1e25a5de6a6184b7a7da9b0784923a9d9755051d372f514cca5615f24","purpose":"second","source":"town","time":"2026-11-16T14:38:31.648722+00:00","user":"ada"}','12c690961669881282936884411639004220c9e2babe6470c4e4dd96068342d3');
CREATE TABLE discreet_head (
	id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	hash VARCHAR(64) NOT NULL, 
	key_check VARCHAR(64), 
	PRIMARY KEY (id)
);
INSERT INTO "discreet_head" VALUES(1,4,'12c690961669881282936884411639004220c9e2babe6470c4e4dd96068342d3',NULL);
CREATE TABLE discreet_seen (
	fingerprint VARCHAR(64) NOT NULL, 
	source VARCHAR(200) NOT NULL, 
	PRIMARY KEY (fingerprint, source)
);
CREATE INDEX discreet_entries_by_source ON discreet_entries (source, number);
CREATE TRIGGER discreet_no_update BEFORE update ON discreet_entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER discreet_no_delete BEFORE delete ON discreet_entries BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
COMMIT;
