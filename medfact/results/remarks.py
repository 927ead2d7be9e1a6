"""What is remarked of the statements of a run, wherever its scores stand: how many are false, which of them their paper labels
wrongly, and whether its demonstrations are rephrased.
"""

from __future__ import annotations

from collections.abc import Iterable

from medfact.results.report import Report
from medfact.results.wording import counted, share
from medfact.statements import VARIANTS


def false_on_purpose(reports: Iterable[Report]) -> str:
    """How many of the statements that runs ask are false, in a sentence: "75% of the statements are false on purpose."."""
    shares = sorted({round(100 * one.false_statements / one.statements) for one in reports if one.statements})
    least_and_most = dict.fromkeys(f"{of}%" for of in (shares[0], shares[-1])) if shares else ("Some",)
    return f"{' to '.join(least_and_most)} of the statements are false on purpose."


def remarks(report: Report) -> list[str]:
    """All that is remarked of a run beside the notes that it recorded."""
    return [*about_demonstrations(report), *about_labels(report)]


def about_demonstrations(report: Report) -> list[str]:
    """That the demonstrations of rephrased statements are not rephrased; nothing where they are, or nothing is."""
    if report.shots_rephrased is not False:
        return []
    return [
        "Its statements are rephrased and its demonstrations are not: beside a run of the prototypes the difference is that of "
        "rephrasing and of demonstrations in another form."
    ]


def about_labels(report: Report) -> list[str]:
    """Which of the forms that a run asks its paper labels wrongly, and its scores without them; nothing where it asks none."""
    found = report.well_labelled
    if found is None:
        return []
    forms = {key: None for key in VARIANTS if any(key in of for of in found.forms.values())}
    relations = "; ".join(f"{name}: {', '.join(of)}" for name, of in found.forms.items())
    average, joint, pair = found.average_accuracy, found.joint_accuracy, found.pair_joint_accuracy
    return [
        f"The labels of {counted(found.statements, 'statement')} in the published sentences do not follow from their facts "
        f"({', '.join(forms)}; {relations}). Without them: right answers {share(average)} of "
        f"{counted(average.n, 'statement')}, all right {share(joint)} of {counted(joint.n, 'fact')}, false partner too "
        f"{share(pair)} of {counted(pair.n, 'pair')}; with fewer statements a fact, all are right more easily."
    ]
