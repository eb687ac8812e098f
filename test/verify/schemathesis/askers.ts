// Who asks the admin API in the runs of schemathesis: one of each role, each with an account, keys, tokens and usage
// that are real. Two owners ask together, so that one sees where it is given what is the other's.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TurnpikeProcess } from '../../support/start-turnpike.ts';

export interface Asker {
  name: string;
  /** The part of the whole time that is its own. */
  share: number;
  /** The account that it must name in what it makes; empty for an account's own token. */
  account: string;
  /** Lines for schemathesis.toml. */
  settings: string;
  /** By name: what stands beside schemathesis.toml. */
  files: Record<string, string>;
}

const catalog = {
  providers: {
    vendor: { kind: 'anthropic', base_url: 'http://127.0.0.1:1', private_network: true, api_key: 'sk-of-nobody' },
  },
  models: { 'vendor-model': { price: { input: '3', output: '15' }, routes: [{ provider: 'vendor' }] } },
  plans: { pro: { title: 'Pro', windows: { '5h': '5', month: '50' } } },
  settings: { sign_up: 'on', webhook_private_network: 'everyone' },
};
const DELIVERED_MS_MAX = 20_000;
const IDS_SPARE = 3;
/** They would revoke the tokens that they ask with. */
const TWO_OWNERS = `[auth.wfc]
path = "peers.json"
user = "one owner"
peers = ["one owner", "another owner"]

[[operations]]
include-operation-id = "token-revoke"
enabled = false
`;

/** The askers, made one after another: what one has ended or disabled is not the next one's. */
export async function* makeAskers(turnpike: TurnpikeProcess): AsyncGenerator<Asker> {
  const seen = await makeAccount(turnpike, 'owner');
  const { token: local } = JSON.parse(readFileSync(join(turnpike.dataDirectory, 'operator.json'), 'utf8'));
  yield { name: 'operator', share: 0.4, ...seen, settings: bearer(local) }; // its token cannot be revoked in a run
  yield { name: 'viewer', share: 0.1, ...seen, settings: bearer(await makeToken(turnpike, 'viewer')) };
  const [owner, other] = [await makeAccount(turnpike, 'owner'), await makeAccount(turnpike, 'owner')];
  const files = { ...owner.files, 'peers.json': peers({ 'one owner': owner.token, 'another owner': other.token }) };
  yield { name: 'two owners', share: 0.3, account: '', files, settings: TWO_OWNERS };
  const member = await makeAccount(turnpike, 'member');
  yield { name: 'member', share: 0.2, account: '', files: member.files, settings: bearer(member.token) };
}

function bearer(token: string): string {
  return `[auth.openapi.token]\nbearer = "${token}"\n`;
}

function peers(tokens: Record<string, string>): string {
  const auth = Object.entries(tokens).map(([name, token]) => ({
    name,
    fixedHeaders: [{ name: 'authorization', value: `Bearer ${token}` }],
  }));
  return JSON.stringify({ auth });
}

async function makeToken({ admin }: TurnpikeProcess, role: string, account?: string): Promise<string> {
  return String((await admin('POST', '/tokens', { role, ...(account !== undefined && { account }) }))['token']);
}

/** An account with a token of this role that made two keys, one of which has been used, and with ids to spare. */
async function makeAccount(
  turnpike: TurnpikeProcess,
  role: 'owner' | 'member',
): Promise<{ account: string; token: string; files: Record<string, string> }> {
  await turnpike.admin('POST', '/apply', { document: catalog }); // what an operator before may have changed
  const account = String((await turnpike.admin('POST', '/accounts', { name: 'fuzzed', credit: '1000' }))['id']);
  const token = await makeToken(turnpike, role, account);
  const key = await makeKey(turnpike, token);
  const message = { model: 'sandbox-echo', max_tokens: 16, messages: [{ role: 'user', content: 'Hello' }] };
  const answer = await turnpike.post(String(key['key']), message);
  await answer.text();
  const spareKeys: unknown[] = [];
  const spareTokens: unknown[] = [];
  for (let at = 0; at < IDS_SPARE; at++) {
    spareKeys.push((await makeKey(turnpike, token))['id']);
    spareTokens.push((await turnpike.admin('POST', '/tokens', { role: 'member', account }))['id']);
  }
  const email = `${account.toLowerCase().replace('_', '-')}@example.com`;
  const person = await turnpike.admin('POST', '/people', { role: 'member', account, email });
  const spareAccount = await turnpike.admin('POST', '/accounts', { name: 'spare' });
  await turnpike.admin('PATCH', `/accounts/${account}/plan`, { plan: 'pro' });
  const batch = await turnpike.admin('POST', '/code-batches', { name: 'fuzzed', amount: '5', count: 5 });
  const group = await turnpike.admin('POST', '/directory-groups', {
    name: `group ${account}`,
    role: 'member',
    account,
  });
  const payment = await turnpike.admin('POST', '/payments', { account, amount: '25' });
  const files = {
    'account-ids.txt': quoted([account]),
    'spare-account-ids.txt': quoted([spareAccount['id']]),
    'key-ids.txt': quoted([key['id']]),
    'spare-key-ids.txt': quoted(spareKeys),
    'token-ids.txt': quoted([spareTokens[0]]),
    'spare-token-ids.txt': quoted(spareTokens.slice(1)),
    'person-ids.txt': quoted([person['id']]),
    'request-ids.txt': quoted([answer.headers.get('request-id')]),
    'batch-ids.txt': quoted([batch['id']]),
    'directory-group-ids.txt': quoted([group['id']]),
    'payment-ids.txt': quoted([payment['id']]),
    ...(await makeDelivery(turnpike, account)),
  };
  return { account, token, files };
}

/** A destination on a port where nobody listens, with a delivery that failed. */
async function makeDelivery({ admin }: TurnpikeProcess, account: string): Promise<Record<string, string>> {
  const address = 'http://127.0.0.1:1/events';
  const destination = await admin('POST', '/destinations', { account, kind: 'webhook', address, types: ['*'] });
  await admin('POST', `/destinations/${destination['id']}/test`, {});
  const untilMs = Date.now() + DELIVERED_MS_MAX;
  for (;;) {
    const { data } = await admin('GET', `/deliveries?destination=${destination['id']}`);
    const [delivery] = data as { id: string }[];
    if (delivery !== undefined)
      return { 'destination-ids.txt': quoted([destination['id']]), 'delivery-ids.txt': quoted([delivery.id]) };
    if (Date.now() > untilMs) throw new Error('the test event was not delivered');
    await Bun.sleep(50);
  }
}

async function makeKey({ url }: TurnpikeProcess, token: string): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(`${url}/api/v1/keys`, { method: 'POST', headers, body: '{}' });
  return (await response.json()) as Record<string, unknown>;
}

function quoted(ids: readonly unknown[]): string {
  return ids.map((id) => `${JSON.stringify(id)}\n`).join('');
}
