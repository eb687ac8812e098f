// An installation with everything that a page may show: usage, payments of every status, plans, deliveries, the longest
// names and amounts, and script in every text of other parties. Contains no tests.

import { startWithStripe } from '../contract/payments/payments-service.ts';
import { eventText, scripts, startScriptedUpstream, upstreamMessage } from '../support/scripted-upstream.ts';
import type { Turnpike } from '../support/start-turnpike.ts';
import { fillCompany } from './fill-company.ts';
import { fillBatches, fillConsole } from './fill-console.ts';
import { type FilledPayments, fillPayments } from './fill-payments.ts';
import { type FilledService, signUpRoles, withBill, withDelivery, withExport } from './walk-pages.ts';

export const SCRIPT = `"><img src=//evil.example/x onerror=window.ran=1><script>window.ran=1</script>'`;
/** Model names contain no spaces; this script needs none. */
export const SCRIPT_MODEL = '"><svg/onload=window.ran=1>';

export interface FilledInstallation extends FilledService, AsyncDisposable {
  turnpike: Turnpike;
  payments: FilledPayments;
  /** Requests with script in their model, the name of their tool, or the error of the provider. */
  scriptRequests: string[];
}

/** A streamed tool call whose name and input contain script. */
const scriptCall = [
  { type: 'message_start', message: { ...upstreamMessage(), content: [], stop_reason: null } },
  {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'tool_use', id: 'toolu_1', name: SCRIPT_MODEL, input: {} },
  },
  {
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'input_json_delta', partial_json: JSON.stringify({ [SCRIPT]: SCRIPT }) },
  },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: 'message_stop' },
];

/** A provider that answers with the tool call, and then with an error that contains script. */
export function startScriptUpstream() {
  const error = JSON.stringify({ error: { type: SCRIPT, message: SCRIPT } });
  return startScriptedUpstream(scripts.rawStream(scriptCall.map((event) => eventText(event)).join('')), (answer) =>
    answer.send(400, { 'content-type': 'application/json' }, error),
  );
}

/** The provider, model and group of that upstream, to apply. */
export function scriptCatalog(url: string) {
  const routes = [{ provider: 'evil', model: SCRIPT_MODEL }];
  return {
    providers: { evil: { kind: 'anthropic', base_url: url, api_key: 'sk-x', private_network: true } },
    models: { [SCRIPT_MODEL]: { display_name: SCRIPT, price: { input: '1', output: '5' }, routes } },
    groups: { evil: { models: [SCRIPT_MODEL, '*'] } },
  };
}

const plans = { pro: { title: 'Pro', price: '20.00', windows: { '5h': '2.00', month: '40.00' }, is_offered: true } };

/** Owner and member belong to the account whose name is script, which has the longest amounts. */
export async function startFilledInstallation(): Promise<FilledInstallation> {
  const upstream = await startScriptUpstream();
  const service = await startWithStripe({ plans, ...scriptCatalog(upstream.url) });
  const { turnpike } = service;
  await fillConsole(turnpike, 12);
  const hostile = await turnpike.makeKey(
    { name: SCRIPT, credit: '9000000.127' },
    { name: SCRIPT, quota: '2500.00', quota_period: 'month' },
  );
  const accountId = hostile.account;
  await fillNames(turnpike, accountId);
  const { requestId, scriptRequests } = await sendMessages(turnpike, hostile.secret);
  const batch = await turnpike.admin('POST', '/code-batches', { name: SCRIPT, amount: '5.00', count: 3 });
  const [code] = batch['codes'] as string[];
  await turnpike.admin('POST', `/accounts/${accountId}/redemptions`, { code });
  const ids = { accountId, batchId: String(batch['id']), keyId: hostile.key, requestId };
  const places = {
    ...{ ...ids, ...(await withDelivery(turnpike, accountId)), exportId: await withExport(turnpike, accountId) },
    ...{ modelName: SCRIPT_MODEL, providerName: 'evil', billId: await withBill(turnpike, 'evil', SCRIPT) },
  };
  const people = await signUpRoles(turnpike, accountId);
  const stop = async () => {
    await service[Symbol.asyncDispose]();
    await upstream.close();
  };
  const payments = await fillPayments(service, accountId);
  const company = await fillCompany(turnpike, accountId, people, SCRIPT);
  const clientBatchId = await fillBatches(turnpike, hostile.secret, SCRIPT_MODEL);
  return {
    ...{ turnpike, places: { ...places, clientBatchId }, scriptRequests, [Symbol.asyncDispose]: stop },
    ...{ payments, people, company },
  };
}

/** Long names and script in the texts that operators and owners enter. */
async function fillNames(turnpike: Turnpike, account: string): Promise<void> {
  const rich = await turnpike.makeKey(
    { name: 'Harbour University, Department of Computational Linguistics', credit: '9000000.127' },
    { name: 'nightly evaluation of the translation pipeline (do not revoke)' },
  );
  await turnpike.admin('PATCH', `/keys/${rich.key}`, { status: 'disabled' });
  const money = { amount: '5.00', reference: SCRIPT, note: SCRIPT };
  await turnpike.admin('POST', `/accounts/${account}/credits`, money);
  await turnpike.admin('POST', '/tokens', { role: 'viewer', name: SCRIPT });
  await turnpike.admin('POST', '/people', { email: 'mallory@example.com', name: SCRIPT, role: 'viewer' });
  const address = 'https://hooks.example.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX';
  await turnpike.admin('POST', '/destinations', { kind: 'slack', address, types: ['*'], account });
}

/** One message of each outcome, and messages with script. */
async function sendMessages(turnpike: Turnpike, secret: string) {
  const send = async (model: string, content: string) => {
    const messages = [{ role: 'user', content }];
    const answer = await turnpike.post(secret, { model, max_tokens: 200, stream: true, messages });
    await answer.text().catch(() => ''); // the sandbox interrupts one stream
    return answer.headers.get('request-id') ?? '';
  };
  for (const model of ['sandbox-lorem', 'sandbox-error-529', 'sandbox-error-429', 'sandbox-cut'])
    await send(model, 'Hello '.repeat(40));
  await send('no-such-model-with-a-long-name', 'Hello');
  const scriptRequests = [await send(SCRIPT_MODEL, SCRIPT), await send(SCRIPT_MODEL, SCRIPT)];
  return { requestId: await send('sandbox-echo', SCRIPT), scriptRequests };
}
