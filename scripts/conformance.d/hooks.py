"""What schemathesis has to know of the server, and which of its failures are none, each with the
reason."""

import os
import re
import uuid

import schemathesis

OWN_SESSION = {"current", os.environ["CONFORMANCE_SESSION"]}


@schemathesis.hook
def before_call(context, case, kwargs):
    """Has no request end the very session that all are sent with, however its id got there; and a
    new idempotency key for each: the same one again with another body is 422, as it should be."""
    if case.operation.path == "/v1/sessions/{id}" and (case.path_parameters or {}).get("id") in OWN_SESSION:
        case.path_parameters["id"] = str(uuid.uuid4())
    key = (case.headers or {}).get("Idempotency-Key")
    if isinstance(key, str) and 1 <= len(key) <= 256:
        new = str(uuid.uuid4())
        case.headers["Idempotency-Key"] = new + key[len(new) :] if len(key) > len(new) else new


# (the failure, the status, what is in the answer, why it is none)
ACCEPTED = [
    (
        "Schema-valid request rejected",
        400,
        "must be a cursor, as an answer gave it",
        "A cursor is opaque: the schema tells how one may look, not which ones a store has given.",
    ),
    (
        "Schema-valid request rejected",
        400,
        "There is nothing with the id",
        "A page can only begin behind what is there.",
    ),
    (
        "Schema-valid request rejected",
        412,
        "precondition-failed",
        "The condition is the request's own; whether it holds isn't for a schema to say.",
    ),
    (
        "Schema-valid request rejected",
        422,
        r"\d+ bytes",
        "The bounds are bytes of UTF-8 or of JSON, and JSON Schema counts characters.",
    ),
    (
        "Schema-valid request rejected",
        422,
        r'"errors":\[{"pointer":"/\d+",',
        "Whether an operation of a JSON patch can be done depends on the document that it meets.",
    ),
    (
        "Schema-valid request rejected",
        422,
        "It must be the id in the path, or be left out",
        "The schema of a body can't look at the path.",
    ),
    (
        "Schema-valid request rejected",
        422,
        r'There is no action .*, only|There is no such member here|"pointer":"/arguments',
        "Which actions and arguments a screen has depends on its name in the path; and there too a body's schema can't look.",
    ),
    (
        "Schema-valid request rejected",
        422,
        "outside of what 64 bits hold",
        "A value may be any JSON, and JSON Schema has no word for how large the numbers somewhere in it may be.",
    ),
    (
        "Schema-violating request accepted",
        412,
        "precondition-failed",
        "It wasn't: the condition is looked at before what is wrong with the action, and nothing was done.",
    ),
    (
        "Schema-violating request accepted",
        413,
        "payload-too-large",
        "It wasn't: too many items are also too many bytes, and nothing of such a body is looked at.",
    ),
    (
        "Schema-valid request rejected",
        507,
        "quota-exceeded",
        "What there was before is part of a quota.",
    ),
]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """Drops the failures that are none."""
    text = response.content.decode("utf-8", "replace")
    for title, status, pattern, _ in ACCEPTED:
        if failure.title == title and response.status_code == status and re.search(pattern, text):
            return False
    return True
