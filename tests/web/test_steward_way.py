"""The steward's way whole, by forms, with real jobs and a real ledger."""

from __future__ import annotations

import io
import zipfile

from discreet.ledger.ledger import Ledger
from discreet.privacy.guarantee import Budget
from discreet.web.choosing import build
from discreet.web.house import House
from tests.web.conftest import SECRET, Browser, hidden_field, settled


def test_a_folder_of_parquet_a_saved_mapping_and_further_columns(
    steward: Browser, house: House
) -> None:
    shown = steward.get("/")
    assert "<option>lake</option>" in shown
    assert "elsewhere" not in shown, "a link that leads out of the folder"
    columns = steward.post("/logs/chosen", name="lake")
    log = columns.split("/")[2]
    steward.get(columns)
    looked = house.jobs.latest("look", log)
    assert looked is not None
    looked = settled(house, looked.id)
    assert looked.state == "failed"
    assert looked.result["columns"] == ["patient", "what", "when", "ward", "age"]
    saved = b'case = "patient"\nactivity = "what"\ntimestamp = "when"\n'
    for wrong in (saved + b'query = "SELECT 1"\n', b"{"):
        steward.post(columns, 422, files={"mapping": ("m.toml", wrong)})
    steward.post(columns, files={"mapping": ("m.toml", saved)})
    steward.get(columns)
    looked = house.jobs.latest("look", log, reading=house.logs.get(log).reading)
    assert looked is not None
    looked = settled(house, looked.id)
    assert looked.state == "done", looked.problem
    assert looked.result["facts"]["cases"] == 60
    assert looked.result["attributes"] == [["ward", "text"], ["age", "integer"]]
    assert steward.client.get(f"/logs/{log}/mapping.toml").content == saved

    assert 'name="a.ward"' in steward.get(f"/logs/{log}/choose?what=log")
    wanted = {"a.ward": "text", "a.age": "integer", "p.attributes": "", "p.delta": "1e-6"}
    steward.post(f"/logs/{log}/choose", what="log", mechanism="whole", level="1.0", **wanted)
    choice = house.logs.get(log).choice
    assert choice["parameters"]["attributes"] == ["ward:text", "age:integer"]
    assert "age" in str(build(choice).guarantee().to_dict())
    chosen = steward.get(f"/logs/{log}/choose")
    assert '<option value="integer" selected>' in chosen


def test_from_a_log_to_a_bundle(steward: Browser, house: House) -> None:
    assert "permits.csv" in steward.get("/")
    columns = steward.post("/logs/chosen", name="permits.csv")
    log = columns.split("/")[2]
    steward.get(columns)
    looked = house.jobs.latest("look", log)
    assert looked is not None
    assert settled(house, looked.id).state == "done", looked
    shown = steward.get(columns)
    assert "400 cases" in shown
    assert SECRET in shown
    look = steward.get(f"/logs/{log}/look")
    assert "Whom would somebody find?" in look
    picture = steward.client.get(f"/jobs/{looked.id}/picture/map-3.svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "<svg" in picture.text
    steward.get(f"/jobs/{looked.id}/picture/spec.json", 404)

    steward.get(f"/logs/{log}/choose?what=log")
    problem = steward.post(
        f"/logs/{log}/choose", 422, what="variants", mechanism="headtail", level="own",
        **{"p.epsilon": "-1"},
    )  # fmt: skip
    assert "epsilon must be" in problem
    fields = {"p.delta": "1e-6"}
    where = steward.post(
        f"/logs/{log}/choose", what="variants", mechanism="travas", level="1.0", suffix=".csv",
        **fields,
    )  # fmt: skip
    assert where == f"/logs/{log}/try"
    confirm = steward.post(
        f"/logs/{log}/budget", source="the town", epsilon="2", delta="1e-5", unit="case"
    )
    page = steward.get(confirm)
    assert "Used afterwards: 50.0% of the cap" in page
    form = {name: hidden_field(page, name) for name in ("source", "seal", "once")}
    missing = steward.post(f"/logs/{log}/release", 422, **form, purpose=" ")
    assert "Say what for" in missing
    form |= {"purpose": "a test"}
    first = steward.post(f"/logs/{log}/release", **form)
    assert steward.post(f"/logs/{log}/release", **form) == first, "sent twice, released once"
    job = settled(house, first.rpartition("/")[2])
    assert job.state == "done", job.problem
    page = steward.get(first)
    assert "the-town.csv" in page
    assert "What it is worth" in page

    with Ledger(house.settings.ledger) as ledger:
        account = ledger.account("the town")
        entries = [row for row in ledger.history() if row["kind"] == "release"]
    assert account.releases == len(entries) == 1
    assert Budget(**entries[0]["guarantee"]["holds"]) == Budget(1.0, 1e-6)
    assert entries[0]["certificate"]
    bundle = steward.client.get(f"{first}/bundle")
    with zipfile.ZipFile(io.BytesIO(bundle.content)) as archive:
        names = archive.namelist()
        everything = b"".join(archive.read(name) for name in names)
    assert names[:3] == [
        "the-town.csv",
        "the-town.csv.certificate.json",
        "the-town.csv.certificate.html",
    ]
    assert SECRET.encode() not in everything
    steward.get(f"{first}/report", 404)
    steward.post(f"{first}/report")
    measured = house.report(job)
    assert measured is not None
    assert settled(house, measured.id).state == "done", house.jobs.get(measured.id).problem
    assert "Most frequent variants" in steward.get(first)
    report = steward.client.get(f"{first}/report")
    assert report.headers["content-disposition"].startswith('attachment; filename="PRIVATE')
    assert "not to be shared" in report.text
    history = steward.get("/budgets?source=the%20town")
    assert "a test" in history
    assert "<svg" in steward.get("/budgets/plot?source=the%20town")
    assert "asked to release" in steward.get("/trail")

    steward.post(f"/logs/{log}/remove")
    steward.get(f"/logs/{log}/look", 404)
    assert not house.jobs.folder(looked.id).exists()
    assert "What it is worth" not in steward.get(first)
    assert steward.client.get(f"{first}/bundle").status_code == 200


def test_a_person_that_is_named_asks_whom_to_protect(steward: Browser, house: House) -> None:
    columns = steward.post("/logs/chosen", name="permits.csv")
    log = columns.split("/")[2]
    steward.get(columns)
    looked = house.jobs.latest("look", log)
    assert looked is not None
    settled(house, looked.id)
    for page in (columns, f"/logs/{log}/look"):
        shown = steward.get(page)
        assert "“case:person” looks as if it named people" in shown
        assert "any one case is protected, not any one person" in shown
    assert "That alone protects nobody better" in steward.get(columns)
    assert "To protect people, say which column" in steward.get(f"/logs/{log}/choose")
    wanted = {"what": "variants", "mechanism": "travas", "level": "1.0"}
    steward.post(f"/logs/{log}/choose", **wanted)
    steward.post(columns, individual="case:person")
    where = steward.client.get(f"/logs/{log}/confirm", follow_redirects=False)
    assert where.headers["location"] == f"/logs/{log}/choose", "who is protected was not said"
    steward.get(columns)
    looked = house.jobs.latest("look", log, reading=house.logs.get(log).reading)
    assert looked is not None
    settled(house, looked.id)
    assert "looks as if" not in steward.get(columns)
    shown = steward.get(f"/logs/{log}/choose")
    assert "any one person (column case:person)" in shown
    assert "By the raw log, for you only" in shown
    for said in ({}, {"unit": "individual"}, {"unit": "individual", "p.cases_per_individual": ""}):
        shown = steward.post(f"/logs/{log}/choose", 422, **wanted, **said)
        assert "how many cases" in shown
    steward.post(f"/logs/{log}/choose", **wanted, unit="case", **{"p.cases_per_individual": "3"})
    assert "any one case (column" in steward.get(f"/logs/{log}/confirm")
    assert house.logs.get(log).choice["unit"] == "case"
    bound = {"unit": "individual", "p.cases_per_individual": "2"}
    steward.post(f"/logs/{log}/choose", **wanted, **bound)
    shown = steward.get(f"/logs/{log}/confirm").replace("&#39;", "'")
    assert "any one person (column 'case:person', at most 2 cases each)" in shown
