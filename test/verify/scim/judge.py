# Runs all checks of scim2-tester against the service whose URL and token are in the environment. Prints one line of JSON for each
# check. A check that fails or is skipped says why.
import json
import os

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

client = Client(
    base_url=os.environ["SCIM_URL"],
    headers={"Authorization": f"Bearer {os.environ['SCIM_TOKEN']}"},
    timeout=60,
)
for result in check_server(SyncSCIMClient(client)):
    about = {"status": result.status.name, "check": result.title, "resource": result.resource_type}
    print(json.dumps({**about, "reason": str(result.reason)}))
