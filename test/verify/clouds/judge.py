"""What botocore, AWS's own library, says about requests and streams of Bedrock. Reads questions as lines of JSON and prints an answer for each."""

import base64
import hashlib
import json
import re
import struct
import sys
import zlib

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.eventstream import EventStreamBuffer, ParserError
from botocore.session import Session
from botocore.validate import ParamValidator

SERVICE = "bedrock-runtime"
session = Session()
service = session.get_service_model(SERVICE)


def signature_of(question):
    """The authorization that botocore makes of the same request, and whether its hash is that of the body."""
    keys, headers = question["keys"], {name.lower(): value for name, value in question["headers"].items()}
    authorization = headers.get("authorization", "")
    signed = re.search(r"SignedHeaders=([^,]+)", authorization)
    names = signed.group(1).split(";") if signed else []
    credentials = Credentials(keys["accessKeyId"], keys["secretAccessKey"], keys.get("sessionToken"))
    signing_name = question.get("service", service.signing_name)
    signer = (S3SigV4Auth if signing_name == "s3" else SigV4Auth)(credentials, signing_name, question["region"])
    body = question["body"].encode()
    request = AWSRequest(
        method=question.get("method", "POST"),
        url="http://" + headers["host"] + question["path"],
        headers={name: headers[name] for name in names},
        data=body,
    )
    request.context["timestamp"] = headers["x-amz-date"]
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    expected = (
        f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}, SignedHeaders={';'.join(names)}, Signature={signature}"
    )
    return {
        "is_right": expected == authorization,
        "is_hashed": headers.get("x-amz-content-sha256") == hashlib.sha256(body).hexdigest(),
        "has_token": headers.get("x-amz-security-token") == keys.get("sessionToken"),
        "names": names,
        "canonical_path": canonical.split("\n")[1],
    }


class Captured(Exception):
    pass


def path_of(question):
    """The path on the wire when botocore's own client names this model."""
    client = session.create_client(
        SERVICE,
        region_name="eu-central-1",
        endpoint_url="http://127.0.0.1:1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="secret",
        config=Config(retries={"max_attempts": 0}),
    )
    sent = []

    def capture(request, **_):
        sent.append(request)
        return AWSResponse(request.url, 500, {}, None)

    client.meta.events.register("before-send", capture)
    try:
        client.converse(modelId=question["model"], messages=[])
    except Exception as error:
        if not sent:
            return {"path": None, "error": str(error)}
    return {"path": sent[0].url.split("127.0.0.1:1", 1)[1]}


def frame(headers, payload):
    encoded = b"".join(
        bytes([len(name.encode())]) + name.encode() + b"\x07" + struct.pack("!H", len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", len(encoded) + len(payload) + 16, len(encoded))
    checked = prelude + struct.pack("!I", zlib.crc32(prelude)) + encoded + payload
    return checked + struct.pack("!I", zlib.crc32(checked))


def frames_of(question):
    """The stream of these events, which botocore reads back as they were written."""
    stream = b"".join(frame(event["headers"], event["payload"].encode()) for event in question["events"])
    read = decode(stream)
    written = [{"headers": event["headers"], "payload": event["payload"]} for event in question["events"]]
    assert read == written, (read, written)
    return {"stream": base64.b64encode(stream).decode()}


def decode(stream):
    buffer = EventStreamBuffer()
    buffer.add_data(stream)
    return [{"headers": event.headers, "payload": event.payload.decode()} for event in buffer]


def read_of(question):
    """The events that botocore reads; null if it refuses the stream."""
    try:
        return {"events": decode(base64.b64decode(question["stream"]))}
    except (ParserError, struct.error, KeyError, UnicodeDecodeError) as error:
        return {"events": None, "error": type(error).__name__}


def faults_of(question):
    """What does not fit the model of the operation: members, types, lengths, patterns, choices."""
    model = session.get_service_model(question.get("service", SERVICE))
    shape = model.operation_model(question["operation"]).input_shape
    params = {"modelId": "m", **json.loads(question["body"])}
    faults = []
    walk(shape, params, "", faults)
    report = ParamValidator().validate(params, shape)
    if report.has_errors():
        faults.append(report.generate_report())
    return {"faults": faults}


def operation_of(question):
    """The operation of the service that has this address; null: none."""
    model = session.get_service_model(question["service"])
    for name in model.operation_names:
        http = model.operation_model(name).http
        pattern = re.sub(r"\{\w+\}", "[^/]+", http["requestUri"].split("?")[0])
        if http["method"] == question["method"] and re.fullmatch(pattern, question["path"]):
            return {"operation": name}
    return {"operation": None}


def walk(shape, value, path, faults):
    if shape.type_name == "structure":
        if getattr(shape, "is_document_type", False):
            return
        if getattr(shape, "is_tagged_union", False) and len(value) != 1:
            faults.append(f"{path}: {sorted(value)} in a union")
        for name in value:
            if name in shape.members:
                walk(shape.members[name], value[name], f"{path}.{name}", faults)
    elif shape.type_name == "list":
        for index, item in enumerate(value):
            walk(shape.member, item, f"{path}.{index}", faults)
    elif shape.type_name == "blob":
        try:
            base64.b64decode(value, validate=True)
        except ValueError:
            # The seals of the generated replies are no base64.
            if not path.endswith(".redactedContent"):
                faults.append(f"{path}: not base64")
    elif shape.type_name == "string" and isinstance(value, str):
        pattern = shape.metadata.get("pattern")
        if shape.enum and value not in shape.enum:
            faults.append(f"{path}: {value} is not one of {shape.enum}")
        if pattern and path != ".modelId" and not re.fullmatch(pattern, value):
            faults.append(f"{path}: {value} does not match {pattern}")
        most = shape.metadata.get("max")
        if most is not None and len(value) > int(most):
            faults.append(f"{path}: longer than {most}")


ANSWERS = {
    "signature": signature_of,
    "path": path_of,
    "frames": frames_of,
    "read": read_of,
    "faults": faults_of,
    "operation": operation_of,
}

print(json.dumps({"botocore": session.user_agent_version}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps(ANSWERS[asked["ask"]](asked)), flush=True)
