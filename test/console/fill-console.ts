// Fills an installation with accounts, keys, credit and messages through its API. Contains no tests.

import type { Turnpike } from '../support/start-turnpike.ts';

export interface Filled {
  /** Ids, "acct_…", by name. */
  accounts: Record<'acme' | 'globex' | 'initech', string>;
  /** Secrets of tokens by role; owner and member are of acme. */
  tokens: Record<'operator' | 'viewer' | 'owner' | 'member', string>;
  /** A key of acme: its id and secret. */
  key: { id: string; secret: string };
  /** The id of a completed request. */
  requestId: string;
}

const MODELS = [
  'sandbox-echo',
  'sandbox-lorem',
  'sandbox-tool',
  'sandbox-thinking',
  'sandbox-cut',
  'sandbox-error-529',
];
const tool = { name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } };

/** Sends `messageCount` messages with several keys, models and outcomes. */
export async function fillConsole(turnpike: Turnpike, messageCount = 60): Promise<Filled> {
  const acme = await turnpike.makeKey({ name: 'acme', credit: '250.00' }, { name: 'production', quota: '50.00' });
  const globex = await turnpike.makeKey({ name: 'globex', credit: '0.02' }, { name: 'nightly batch' });
  const initech = await turnpike.makeKey(
    { name: 'initech', credit: '12.00', allowance: '5.00', allowance_period: 'month' },
    { name: 'support bot', quota: '1.00', quota_period: 'day', rpm: 600 },
  );
  const token = async (role: string, account?: string) =>
    String(
      (await turnpike.admin('POST', '/tokens', { role, name: `${role} of tests`, ...(account && { account }) })).token,
    );
  const tokens = {
    operator: await token('operator'),
    viewer: await token('viewer'),
    owner: await token('owner', acme.account),
    member: await token('member', acme.account),
  };
  await turnpike.admin('POST', `/accounts/${acme.account}/credits`, {
    amount: '100.00',
    reference: 'invoice 4711',
    note: 'bank transfer',
  });
  for (let at = 0; at < messageCount / 10; at++) {
    const messages = [{ role: 'user', content: 'Hello' }];
    await turnpike.post(at % 2 === 0 ? acme.secret : 'unknown', { model: 'no-such-model', max_tokens: 40, messages });
  }
  let requestId = '';
  for (let at = 0; at < messageCount; at++) {
    const secret = [acme, acme, acme, initech, globex][at % 5]?.secret ?? '';
    const answer = await turnpike.post(secret, {
      model: MODELS[at % MODELS.length],
      max_tokens: 40 + (at % 7) * 30,
      stream: at % 2 === 0,
      tools: [tool],
      messages: [{ role: 'user', content: 'What is the weather in Paris? '.repeat(1 + (at % 9)) }],
    });
    await answer.text().catch(() => ''); // the sandbox interrupts this stream
    if (at === 1) requestId = answer.headers.get('request-id') ?? '';
  }
  return {
    accounts: { acme: acme.account, globex: globex.account, initech: initech.account },
    tokens,
    key: { id: acme.key, secret: acme.secret },
    requestId,
  };
}

/** A batch of the key that has ended, and the id of one that waits, because none runs any more. */
export async function fillBatches({ url, admin }: Turnpike, secret: string, model = 'sandbox-echo'): Promise<string> {
  const send = async (path: string, body?: object) => {
    const headers = { 'x-api-key': secret, 'content-type': 'application/json' };
    const sent = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
    return (await (await fetch(`${url}/v1/messages/batches${path}`, sent)).json()) as Record<string, unknown>;
  };
  const make = (...models: string[]) => {
    const messages = [{ role: 'user', content: 'Hello' }];
    return send('', {
      requests: models.map((one, at) => ({
        custom_id: `item-${at}`,
        params: { model: one, max_tokens: 40, messages },
      })),
    });
  };
  const { id } = await make(model, 'no-such-model');
  while ((await send(`/${id}`))['processing_status'] !== 'ended') await Bun.sleep(50);
  const { document } = (await admin('GET', '/catalogue')) as { document: { settings: object } };
  await admin('POST', '/apply', { document: { settings: { ...document.settings, batch_messages_max: 0 } } });
  return String((await make(model, model, 'sandbox-lorem'))['id']);
}
