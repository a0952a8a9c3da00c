"""What is said of a promise, in German. What mechanisms say of themselves stays in English."""

from __future__ import annotations

from discreet.privacy.words.sentences import Vocabulary

GERMAN = Vocabulary(
    one={"case": "einen Fall", "individual": "eine Person"},
    change={
        ("add-remove", "case"): "Kommt ein Fall hinzu oder fällt einer weg",
        ("add-remove", "individual"): "Kommt eine Person hinzu oder fällt eine weg",
        ("swap", "case"): "Wird ein Fall durch einen anderen ersetzt",
        ("swap", "individual"): "Wird eine Person durch eine andere ersetzt",
    },
    doubt={
        ("add-remove", "case"): "ob ein bestimmter Fall im Log ist",
        ("add-remove", "individual"): "ob eine bestimmte Person im Log ist",
        ("swap", "case"): "welcher von zwei Fällen im Log ist",
        ("swap", "individual"): "welche von zwei Personen im Log ist",
    },
    seeded="NICHT PRIVAT: Das Rauschen stammt aus einem Startwert (Seed). Wer ihn kennt oder "
    "errät, kann es wieder herausrechnen. Nur für Tests und Experimente verwenden.",
    unbounded="Diese Veröffentlichung hat keine Differential-Privacy-Garantie: Es ist keine "
    "endliche Schranke dafür bekannt, was sie über {one} verrät.",
    gist={
        "strong": {
            "case": "Wer diese Veröffentlichung sieht, erfährt über jeden einzelnen Fall fast "
            "dasselbe, als wäre er nie im Log gewesen.",
            "individual": "Wer diese Veröffentlichung sieht, erfährt über jede einzelne Person "
            "fast dasselbe, als wäre sie nie im Log gewesen.",
        },
        "moderate": {
            "case": "Wer diese Veröffentlichung sieht, kann etwas über einen einzelnen Fall "
            "erfahren, bleibt aber im Zweifel.",
            "individual": "Wer diese Veröffentlichung sieht, kann etwas über eine einzelne Person "
            "erfahren, bleibt aber im Zweifel.",
        },
        "weak": {
            "case": "SCHWACHER SCHUTZ: Wer diese Veröffentlichung sieht, kann sich über einen "
            "einzelnen Fall fast sicher werden.",
            "individual": "SCHWACHER SCHUTZ: Wer diese Veröffentlichung sieht, kann sich über eine "
            "einzelne Person fast sicher werden.",
        },
        "hardly any": {
            "case": "KAUM SCHUTZ: Wer diese Veröffentlichung sieht, kann über einen einzelnen Fall "
            "fast alles erfahren. Sie ist nicht als anonym anzusehen.",
            "individual": "KAUM SCHUTZ: Wer diese Veröffentlichung sieht, kann über eine einzelne "
            "Person fast alles erfahren. Sie ist nicht als anonym anzusehen.",
        },
    },
    precisely="Genau: {change}, so ändert sich die Wahrscheinlichkeit jedes möglichen Ergebnisses "
    "höchstens um den Faktor e^ε = {odds} (ε = {epsilon}){exception}.",
    exception=", außer bei Ergebnissen der Wahrscheinlichkeit höchstens δ = {delta}",
    example="Ein Beispiel: Wer unentschieden war (50 %), {doubt}, kann danach höchstens zu "
    "{sure} % sicher sein, was immer er sonst weiß{barring}.",
    barring=" (bis auf eine Wahrscheinlichkeit von {delta})",
    bounded_cases="Eine Person zählt mit höchstens {cases} Fällen.",
    case_column="Fälle werden durch die Spalte {case} unterschieden.",
    individual_column="Fälle werden durch die Spalte {case} unterschieden, Personen durch die "
    "Spalte {individual}.",
    status={
        "proved": "Das ist bewiesen.",
        "conditional": "Das gilt unter den unten genannten Bedingungen.",
        "refuted": "Die veröffentlichte Behauptung gilt nicht.",
        "unproved": "Es ist kein Beweis bekannt.",
    },
    claimed="Behauptet: {claimed}. {holds}",
    holds="Es gilt: {holds}.",
    holds_nothing="Es gilt: nichts Endliches.",
    public="Als öffentlich angenommen: {conditions}.",
    levels={
        "strong": "starker Schutz",
        "moderate": "mäßiger Schutz",
        "weak": "schwacher Schutz",
        "hardly any": "kaum Schutz",
        "none": "kein Schutz",
    },
    weak_epsilon="ε = {epsilon} heißt {level}: Wer unentschieden war, kann danach zu {sure} % "
    "sicher sein. Bis ε = 1 ist der Schutz stark, bis 3 mäßig.",
    large_delta="δ = {delta} ist zu groß für {cases} veröffentlichte Fälle: Von so vielen können "
    "etwa {exposed} ganz bloßgestellt sein. δ sollte unter {limit} liegen.",
    insisted="Diese Veröffentlichung ist schwächer, als discreet sie von sich aus macht; wer sie "
    "machte, hat darauf bestanden.",
    dropped="Nur die Reihenfolge der Aktivitäten ist veröffentlicht: Zeiten sind künstlich (1970, "
    "eine Sekunde je Ereignis), alle anderen Spalten fehlen. --times veröffentlicht private "
    "Zeiten, --attributes weitere Spalten.",
)
