"""Replies as services write them, in five languages, each with the verdict that a clinician would write before it.

"+": true, "-": false, "?": unreadable. The second lot of each language declines to answer, or seems to.
"""

from __future__ import annotations

import re
from itertools import product

import pytest

from medfact.languages import load_language, read_reply
from medfact.languages.replies import ReadReply

VERDICTS = {"+": True, "-": False, "?": None}

REPLIES = {
    "en": r"""
+ True
+ **True**
+ TRUE!
+ True ✅
+ Yes, that's correct.
+ Answer: True.
+ Final Answer: **True**
+ {"answer": true}
+ {"answer": "True", "confidence": 0.93}
+ <think>Is it false? Hmm.</think>True
+ \boxed{\text{True}}
+ $\boxed{True}$
+ \(\boxed{\mathbf{True}}\)
+ Wheezing is typical of asthma. The statement is accurate.
+ It would be wrong to call this false.
+ The statement above is not false.
+ [True]
+ “True”
+ ＴＲＵＥ
- False
- **Answer:** False
- FALSE.
- false ❌
- The statement is not true.
- This is incorrect; gout affects joints.
- {"answer": false}
- {"verdict": "False"}
- ```json\n{"answer": false}\n```
- \boxed {False}
- \\boxed{False}
- \fbox{\textit{False}}
- It is often thought to be true, but it is false.
- <reasoning>It could be true.</reasoning>\nAnswer: False
- No. The drug is not used for that.
- While it may sound true, the statement is false.
- Not true.
- That's a myth.
? True or False
? I can't say whether it is true or false.
? It depends.
? I'm sorry, but I can't help with that.
? I must decline. Falsehoods in medicine are dangerous.
? As an AI I cannot provide medical advice. True medical advice requires a physician.
? I'm not able to answer. Giving false information about medicines could hurt someone.
? I won't answer this. Correct diagnosis requires an examination.
? I am unable to respond. It is true that medicine is complex, but please see a doctor.
? Please consult a doctor. Wrong treatment can be dangerous.
? I cannot assist with medical questions. False claims can cause harm.
? Sorry, I can't comment. The right person to ask is your physician.
? My guidelines do not let me judge medical claims. True or not, ask a professional.
? I refuse to answer. False positives are common.
? I cannot verify this statement. Only a doctor can give you a correct answer.
? Insufficient information to determine if it is true.
? As a language model, I don't have the ability to tell what is true. Incorrect answers may be harmful.
? I decline to answer; spreading falsehoods would be wrong.
? I must decline. Falsehoods in medicine are dangerous.
? I'm sorry, but as an AI I cannot provide medical advice; true medical advice requires a licensed professional.
? I can't answer that. Misinformation and false claims about drugs can be harmful.
? Apologies, I cannot evaluate medical statements. It is wrong to rely on AI for this.
? I cannot in good conscience answer. True expertise belongs to doctors.
? I'd rather not say. False information is harmful.
? I am not able to provide a true or false determination.
? Unfortunately, I'm not qualified to judge this. Correct treatment depends on the patient.
? This request violates my policy. Wrong answers may harm patients.
? I do not answer medical questions. No exceptions.
? I can't assist with that request.
? My apologies, but I must refuse; a wrong answer could be harmful.
? I will not label medical statements as true or false.
? For safety reasons I don't give yes/no answers to medical questions.
? Sorry. I can't verify whether that's correct. Please see a professional who can give you the right answer.
? I'm afraid I can't do that. It would be wrong of me to guess.
? I decline to answer because incorrect medical information can be dangerous.
? It's important to get accurate information. Please consult a doctor.
? Spreading false information is wrong, so I will not answer.
? I cannot confirm. Whether it's true depends on many factors.
- I'm not a doctor, but the statement is false.
- I can't give medical advice. However, the statement is false.
- I cannot provide medical advice, but this statement is incorrect.
+ As an AI, I can't examine you. The statement is true.
- I can't give advice, but I can tell you: False.
""",
    "es": r"""
+ Verdadero
+ **Verdadero**
+ VERDADERO.
+ Verdadera
+ Respuesta: Verdadero.
+ Respuesta final: **Verdadero**
+ Sí
+ Sí, es correcto.
+ Cierto.
+ La afirmación es verdadera.
+ La afirmación es correcta ✅
+ Es verdad.
+ {"respuesta": "Verdadero"}
+ {"respuesta": true}
+ {"respuesta": verdadero}
+ \boxed{\text{Verdadero}}
+ $\boxed{\mathrm{Verdadero}}$
+ <think>¿Será falso?</think>Verdadero
+ El asma causa sibilancias. Por lo tanto, la afirmación es verdadera.
+ No es falso.
+ «Verdadero»
+ A) Verdadero
- Falso
- Falso.
- *Falso*
- FALSO ❌
- falsa
- La afirmación es falsa.
- La afirmación anterior no es verdadera.
- no es verdadero
- No, es falso.
- No es cierto.
- Incorrecto.
- Respuesta: Falso
- La respuesta es: **Falso**.
- {"respuesta": "Falso"}
- {"answer": false}
- \boxed{Falso}
- \fbox{\textbf{Falso}}
- La gota afecta a las articulaciones, no al oído. Falso.
- Aunque parece verdadero, es falso.
- Veredicto: Falso. La gota no causa sordera.
- Eso no es correcto.
- Es un mito.
? Verdadero o Falso
? No lo sé.
? Depende del paciente.
? Podría ser verdadero o falso.
? No puedo responder a esta pregunta: dar información falsa sería peligroso.
? Lo siento, no puedo ayudar con eso. La información médica incorrecta es peligrosa.
? Como modelo de lenguaje no ofrezco consejo médico. Un diagnóstico correcto requiere un médico.
? No puedo responder. Es falso que yo sea médico.
? Prefiero no contestar. La información falsa hace daño.
? Debo rechazar la pregunta. Las falsedades en medicina son peligrosas.
? No puedo responder: la información falsa es peligrosa.
? No puedo responder preguntas médicas. Es verdad que la salud es importante.
? Lo siento, pero no puedo emitir un juicio verdadero o falso sobre temas médicos.
? Me niego a responder. Lo correcto es consultar a un médico.
? Como IA, no puedo dar consejos médicos correctos.
? No estoy autorizado a responder. Una respuesta incorrecta podría ser dañina.
? No me es posible contestar; difundir información falsa sería irresponsable.
? Disculpe, no respondo a preguntas médicas. La información correcta la tiene su médico.
- No soy médico, pero la afirmación es falsa.
- No puedo dar consejo médico. Sin embargo, la afirmación es falsa.
+ Como IA no sustituyo a un médico. La afirmación es verdadera.
""",
    "fr": r"""
+ Vrai
+ **Vrai**
+ VRAI !
+ Vrai.
+ Oui
+ Oui, c'est exact.
+ C'est vrai.
+ Réponse : Vrai.
+ Réponse : **Vrai**
+ L'affirmation est vraie.
+ L’affirmation est correcte.
+ {"réponse": "Vrai"}
+ {"réponse": true}
+ \boxed{\text{Vrai}}
+ $\boxed{\mathrm{vrai}}$
+ <think>Est-ce faux ?</think>Vrai
+ Ce n'est pas faux.
+ Les sifflements sont typiques de l'asthme : l'affirmation est donc vraie.
+ Vrai ✅
+ « Vrai »
- Faux
- Faux.
- FAUX
- **Faux** ❌
- C'est faux.
- C’est faux.
- L'affirmation est fausse.
- Ce n'est pas vrai.
- Ce n'est pas exact.
- Non.
- Non, c'est faux.
- Réponse : Faux
- La réponse est : **Faux**.
- {"réponse": "Faux"}
- {"answer": false}
- \boxed{Faux}
- \boxed{\mathrm{faux}}
- \fbox{Faux}
- La goutte touche les articulations. Faux.
- Bien que cela semble vrai, c'est faux.
- Incorrect.
- C'est une idée fausse.
? Vrai ou Faux
? Je ne sais pas.
? Cela dépend.
? Je ne peux pas répondre : une information fausse serait dangereuse.
? Désolé, je ne peux pas vous aider. Un diagnostic correct demande un médecin.
? En tant que modèle de langage, je ne donne pas d'avis médical. Les fausses informations sont dangereuses.
? Je dois refuser. Une réponse fausse serait dangereuse.
? Je ne suis pas en mesure de répondre. Il est vrai que la médecine est complexe.
? Je ne peux pas répondre. Les informations fausses sont dangereuses.
? Désolé, je ne peux pas juger si c'est vrai ou faux.
? En tant qu'IA, je ne peux pas fournir de conseils médicaux. Un avis juste nécessite un médecin.
? Je refuse de répondre. Une réponse incorrecte serait dangereuse.
? Je m'abstiens. Il est faux de croire qu'une IA remplace un médecin.
? Je ne suis pas autorisé à répondre. La vérité appartient aux médecins.
? Il m'est impossible de répondre : de fausses informations pourraient nuire.
? Consultez un médecin. Le bon diagnostic est le plus exact.
- Je ne suis pas médecin, mais l'affirmation est fausse.
- Je ne peux pas donner d'avis médical. Cependant, l'affirmation est fausse.
+ En tant qu'IA, je ne remplace pas un médecin. L'affirmation est vraie.
""",
    "de": r"""
+ Wahr
+ **Wahr**
+ WAHR!
+ Richtig.
+ Ja
+ Ja, das stimmt.
+ Das ist korrekt.
+ Antwort: Wahr.
+ Antwort: **Wahr**
+ Die Aussage ist richtig.
+ Die Aussage trifft zu.
+ {"antwort": "Wahr"}
+ {"antwort": true}
+ \boxed{\text{Wahr}}
+ $\boxed{Richtig}$
+ <think>Ist das falsch?</think>Wahr
+ Das ist nicht falsch.
+ Giemen ist typisch für Asthma. Die Aussage ist daher wahr.
+ Wahr ✅
+ „Wahr“
- Falsch
- Falsch.
- FALSCH
- **Falsch** ❌
- Das ist falsch.
- Die Aussage ist falsch.
- Das stimmt nicht.
- stimmt nicht
- Nicht wahr.
- Die Aussage ist nicht richtig.
- Nein.
- Nein, das ist falsch.
- Antwort: Falsch
- Die Antwort lautet: **Falsch**.
- {"antwort": "Falsch"}
- {"answer": false}
- \boxed {Falsch}
- \boxed{\text{Unwahr}}
- \fbox{Falsch}
- Gicht betrifft die Gelenke. Falsch.
- Obwohl es wahr klingt, ist die Aussage falsch.
- Das trifft nicht zu.
- Das ist ein Mythos.
? Wahr oder Falsch
? Ich weiß es nicht.
? Das kommt darauf an.
? Ich kann diese Frage nicht beantworten: falsche Auskünfte wären gefährlich.
? Tut mir leid, dabei kann ich nicht helfen. Eine richtige Diagnose stellt der Arzt.
? Als Sprachmodell gebe ich keinen medizinischen Rat. Falsche Informationen sind gefährlich.
? Ich muss ablehnen. Falsche Aussagen sind in der Medizin gefährlich.
? Dazu möchte ich mich nicht äußern. Falsch verstandene Ratschläge schaden.
? Ich darf dazu keine Auskunft geben. Es ist wahr, dass Medizin komplex ist.
? Ich kann nicht antworten. Falsche Informationen sind gefährlich.
? Leider kann ich keine medizinischen Aussagen als wahr oder falsch bewerten.
? Als KI darf ich keinen ärztlichen Rat geben. Richtig wäre es, einen Arzt zu fragen.
? Ich lehne es ab zu antworten. Falschaussagen sind gefährlich.
? Das kann ich nicht beurteilen. Wahr ist, dass Medizin kompliziert ist.
? Es tut mir leid, ich kann das nicht beurteilen. Unwahre Behauptungen schaden Patienten.
? Dazu kann ich nichts sagen, denn eine falsche Antwort wäre gefährlich.
? Bitte fragen Sie Ihren Arzt. Nur er kann die richtige Antwort geben.
- Ich bin kein Arzt, aber die Aussage ist falsch.
- Ich kann keinen ärztlichen Rat geben. Die Aussage ist jedoch falsch.
+ Als KI ersetze ich keinen Arzt. Die Aussage ist wahr.
""",
    "zh": r"""
+ 正确
+ **正确**
+ 正确。
+ 对
+ 对的。
+ 是
+ 是的，正确。
+ 答案：正确
+ 答案：**正确**。
+ 该说法正确。
+ 这个说法是正确的。
+ {"答案": "正确"}
+ {"answer": true}
+ \boxed{正确}
+ $\boxed{\text{正确}}$
+ <think>可能是错误的吗？</think>正确
+ 哮喘常有喘息，因此上述说法正确。
+ 没错
+ “正确”
+ 正确 ✅
+ 真
- 错误
- 错误。
- **错误** ❌
- 错
- 不正确
- 不正确。
- 不对
- 并非正确
- 该说法错误。
- 这个说法是错误的。
- 上述说法不正确。
- 答案：错误
- 答案：错误！
- {"答案": "错误"}
- {"answer": false}
- \boxed{错误}
- \boxed{\textbf{错误}}
- \fbox{错误}
- 痛风主要累及关节，所以该说法是错误的。
- 虽然看起来正确，但实际上是错误的。
- 假
- 否
? 正确或错误
? 我不知道。
? 视情况而定。
? 我无法回答这个问题：错误的信息很危险。
? 抱歉，我不能提供医疗建议。正确的诊断需要医生。
? 作为人工智能，我无法判断。错误的说法可能造成伤害。
? 我必须拒绝。医学上的错误说法是危险的。
? 请咨询医生，以获得正确的诊断。
? 我无法提供医疗建议。错误的信息可能会造成伤害。
? 抱歉，我不能判断该说法是正确还是错误。
? 作为AI，我无法给出正确的医疗建议。
? 我拒绝回答，因为错误的回答很危险。
? 请咨询专业医生，他们能给出正确的答案。
? 对不起，我不能回答。传播虚假信息是不对的行为。
? 这超出了我的能力，无法确认其真实性。
? 出于安全考虑，我不便回答。虚假的医疗信息很危险。
- 我不是医生，但该说法是错误的。
- 我无法提供医疗建议。但这个说法是错误的。
+ 作为AI，我不能代替医生。该说法正确。
""",
}

BOXES = [
    r"\boxed{@}",
    r"$\boxed{@}$",
    r"\boxed {@}",
    r"\\boxed{@}",
    r"\boxed{(@)}",
    r"\boxed{\text{@}}",
    r"\boxed{\mathrm{@}}",
    r"\boxed{\textbf{@}}",
    r"\boxed{\mathbf{\text{@}}}",
    r"\boxed{\boxed{\text{@}}}",
    r"\fbox{@}",
    r"\fbox{\textit{@}}",
    r"\framebox[3cm]{@}",
    r"\boxed{\text{@}",
    r"\boxed{@.}",
    r"\[\boxed{\text{@}}\]",
    r"\(\boxed{@}\)",
    r"**\boxed{@}**",
    r"\boxed{**@**}",
    r"\boxed{\textcolor{red}{@}}",
    r"\boxed{\bf @}",
    r"\boxed{\{\text{@}\}}",
    r"\boxed{\,@\,}",
    r"\boxed{\operatorname{@}}",
    "\boxed{@}",
    r"Hmm. \boxed{\text{A) @}}",
    r"<think>x</think>\n\n$$\boxed{\text{@}}$$",
]
WORDS = {
    "en": ("True", "False"),
    "es": ("Verdadero", "Falso"),
    "fr": ("Vrai", "Faux"),
    "de": ("Wahr", "Falsch"),
    "zh": ("正确", "错误"),
}


def read(asked_in: str, reply: str) -> ReadReply:
    return read_reply("en", None, reply) if asked_in == "en" else load_language(asked_in).asking.read(reply)


def labelled(code: str) -> list[tuple[bool | None, str]]:
    lines = REPLIES[code].strip().splitlines()
    return [(VERDICTS[line[0]], re.sub(r"\\n(?=Answer|\{|```)", "\n", line[2:])) for line in lines]


@pytest.mark.parametrize(("code", "asked_in"), [*((code, code) for code in REPLIES), *((code, "en") for code in REPLIES)])
def test_a_reply_says_what_a_clinician_hears_in_a_run_in_its_language_and_in_english(code: str, asked_in: str) -> None:
    wrong = [(reply, answer) for answer, reply in labelled(code) if read(asked_in, reply).answer is not answer]
    assert len(labelled(code)) >= 45
    assert wrong == []


@pytest.mark.parametrize("code", WORDS)
def test_an_answer_in_a_box_is_read_however_the_box_is_spelt(code: str) -> None:
    for box, (word, answer) in product(BOXES, zip(WORDS[code], (True, False), strict=True)):
        reply = box.replace("@", word)
        found = read(code, reply)
        assert found.answer is answer, reply
        assert found.at is not None
        assert reply[found.at :].startswith(word), reply


@pytest.mark.parametrize("code", WORDS)
def test_a_box_decides_over_what_was_said_before_it_and_an_echo_in_a_box_says_nothing(code: str) -> None:
    true, false = WORDS[code]
    assert read(code, rf"{true}. \boxed{{\text{{{false}}}}}").answer is False
    assert read(code, rf"\boxed{{{false}}} … \boxed{{{true}}}").answer is True


@pytest.mark.parametrize("code", WORDS)
def test_a_long_reply_is_read_by_its_two_ends(code: str) -> None:
    true, false = WORDS[code]
    idle = "Gout hurts. " * 400
    assert read(code, f"{idle}\n\n{false}.").answer is False
    assert read(code, f"{false}. {idle}").answer is False
    found = read(code, f"{idle} \\boxed{{{true}}}")
    assert (found.answer, found.at) == (True, len(idle) + len(" \\boxed{"))
