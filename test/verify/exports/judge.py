# Answers questions about files, one JSON object a line: DuckDB reads them, and the validator of FOCUS checks them.
import decimal, json, os, subprocess, sys

import boto3
import duckdb
import focus_validator
import pandas

# The validator's rules for 1.0 still have the names of these columns before 1.0, and it finds its list of currencies
# only from its own folder.
FORMER = {
    "InvoiceIssuerName": "InvoiceIssuer",
    "ProviderName": "Provider",
    "PublisherName": "Publisher",
    "ResourceId": "ResourceID",
    "ChargeCategory": "ChargeType",
}


def query(question):
    rows = duckdb.sql(question["sql"]).fetchall()
    return {"rows": [[text_of(value) for value in row] for row in rows]}


def text_of(value):
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return None if value is None else str(value)


def validate(question):
    table = pandas.read_csv(question["path"], dtype=str, keep_default_na=False)
    for name, former in FORMER.items():
        table[former] = table[name]
    path = question["path"] + ".named.csv"
    table.to_csv(path, index=False)
    home = os.path.dirname(os.path.dirname(focus_validator.__file__))
    program = os.path.join(os.path.dirname(sys.executable), "focus-validator")
    command = [program, "--data-file", path, "--validate-version", "1.0"]
    done = subprocess.run(command, cwd=home, capture_output=True, text=True)
    return {"code": done.returncode, "text": done.stdout + done.stderr}


def client(question, service, keys=("any", "any")):
    return boto3.client(
        service,
        endpoint_url=question["endpoint"],
        region_name="eu-central-1",
        aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1],
    )


def bucket(question):
    """A bucket, and a user who may write into it. The server asks for signatures after these requests."""
    client(question, "s3").create_bucket(
        Bucket=question["bucket"], CreateBucketConfiguration={"LocationConstraint": "eu-central-1"}
    )
    users = client(question, "iam")
    users.create_user(UserName="finance")
    statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    users.put_user_policy(UserName="finance", PolicyName="all", PolicyDocument=policy)
    key = users.create_access_key(UserName="finance")["AccessKey"]
    return {"id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}


def objects(question):
    """Every object of the bucket, downloaded; and the uploads that are not complete."""
    store = client(question, "s3", (question["id"], question["secret"]))
    found = {}
    for number, entry in enumerate(store.list_objects_v2(Bucket=question["bucket"]).get("Contents", [])):
        path = os.path.join(question["directory"], f"object-{number}")
        store.download_file(question["bucket"], entry["Key"], path)
        found[entry["Key"]] = path
    uploads = store.list_multipart_uploads(Bucket=question["bucket"]).get("Uploads", [])
    return {"objects": found, "uploads": len(uploads)}


answers = {"query": query, "validate": validate, "bucket": bucket, "objects": objects}
print(json.dumps({"started": True}), flush=True)
for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = answers[question["ask"]](question)
    except Exception as failure:  # the caller reports it
        answer = {"failure": str(failure)}
    print(json.dumps(answer), flush=True)
