"""Runs the schema checker, whose protocol Tests/SchemaChecker/main.swift describes."""

import json
import subprocess


def check(program, requests):
    """The response to each pair of a schema and values."""
    lines = [json.dumps({"schema": schema, "values": values}) for schema, values in requests]
    run = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    responses = [json.loads(line) for line in run.stdout.splitlines()]
    if len(responses) != len(requests):
        raise SystemExit(f"the checker printed {len(responses)} responses to {len(requests)} requests")
    return responses
