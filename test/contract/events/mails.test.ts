// Events as mails of a running service: to whom they are sent, and how their recipients unsubscribe.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

let smtp: ScriptedSmtp;
let turnpike: Turnpike;
let account: string;
let often: Disposable;
beforeAll(async () => {
  often = setBounds({ jobsFirstAfterMs: 0, jobsPollMs: 20, budgetsWatchedMs: 20 });
  smtp = await startScriptedSmtp();
  turnpike = await startTurnpike(undefined, {
    TURNPIKE_SMTP_URL: smtp.url,
    TURNPIKE_MAIL_FROM: 'turnpike@example.com',
    TURNPIKE_PUBLIC_URL: 'https://console.example.com',
  });
  ({ account } = await turnpike.makeKey());
});
afterAll(async () => {
  await turnpike.stop();
  await smtp[Symbol.asyncDispose]();
  often[Symbol.dispose]();
});

const addMail = (address: string, of?: string) =>
  turnpike.admin('POST', '/destinations', {
    ...{ kind: 'mail', address, types: ['*'] },
    ...(of !== undefined && { account: of }),
  });
const show = async (id: unknown) => await turnpike.admin('GET', `/destinations/${id}`);
const mailsTo = (address: string) =>
  smtp.mails.filter(({ to }) => to.includes(address)).map(({ raw }) => readMail(raw));
async function untilMail(address: string, count: number) {
  for (const endMs = Date.now() + 30_000; mailsTo(address).length < count; await Bun.sleep(20))
    if (Date.now() > endMs) throw new Error(`${mailsTo(address).length} of ${count} mails to ${address} arrived`);
  return mailsTo(address)[count - 1];
}
async function untilTested(destination: unknown): Promise<void> {
  const path = `/deliveries?destination=${destination}&status=delivered`;
  for (const endMs = Date.now() + 30_000; ; await Bun.sleep(20)) {
    const { data } = (await turnpike.admin('GET', path)) as { data: { event: { type: string } }[] };
    if (data.some(({ event }) => event.type === 'destination.tested')) return;
    if (Date.now() > endMs) throw new Error('the test event was not delivered');
  }
}
/** Like a mail program (RFC 8058). */
const press = (address: string) =>
  fetch(address.replace('https://console.example.com', turnpike.url), {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'List-Unsubscribe=One-Click',
  });

test('a recipient unsubscribes with one request, still gets mails about security, and can undo it', async () => {
  const { id } = await addMail('ops@example.com');
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  const first = await untilMail('ops@example.com', 1);
  const address = /<(.+)>/.exec(first?.headers.get('list-unsubscribe') ?? '')?.[1] ?? '';
  const token = new URL(address).searchParams.get('token') ?? '';
  expect(first?.text).toContain(`https://console.example.com/console/unsubscribe#${token}`);
  for (let times = 0; times < 2; times++) {
    const answer = await press(address);
    expect([answer.status, await answer.json()]).toEqual([200, { email: 'ops@example.com', subscribed: false }]);
  }
  expect((await show(id))['unsubscribed_at']).toBeString();
  const { data } = (await turnpike.admin('GET', '/audit?limit=5')) as { data: Record<string, unknown>[] };
  expect(data.filter(({ action }) => action === 'destination.unsubscribe')).toMatchObject([
    { actor: 'recipient', object: id, account: null },
  ]);

  await turnpike.admin('POST', `/accounts/${account}/credits`, { amount: '-10', kind: 'adjustment' }); // balance.exhausted
  await turnpike.admin('POST', '/keys', { account, name: 'second' });
  const second = await untilMail('ops@example.com', 2);
  expect(second?.text).toContain('second');
  expect(second?.headers.has('list-unsubscribe')).toBe(false);

  const undone = await turnpike.admin('POST', '/unsubscribe', { token, undo: true });
  expect(undone).toEqual({ email: 'ops@example.com', subscribed: true });
  expect((await show(id))['unsubscribed_at']).toBeNull();
});

test('a browser that opens the address gets the page of the console, and a wrong token changes nothing', async () => {
  const opened = await fetch(`${turnpike.url}/unsubscribe?token=v1.abc`, { redirect: 'manual' });
  expect([opened.status, opened.headers.get('location')]).toEqual([302, '/console/unsubscribe#v1.abc']);
  const wrong = await press('https://console.example.com/unsubscribe?token=v1.abc');
  expect([wrong.status, await wrong.json()]).toMatchObject([404, { error: { code: 'object_not_found' } }]);
  expect((await fetch(`${turnpike.url}/unsubscribe`, { method: 'PUT' })).status).toBe(405);
});

test('a token of a former address changes nothing, and a new address is subscribed', async () => {
  const { id } = await addMail('former@example.com');
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  const mail = await untilMail('former@example.com', 1);
  const address = /<(.+)>/.exec(mail?.headers.get('list-unsubscribe') ?? '')?.[1] ?? '';
  await press(address);
  await turnpike.admin('PATCH', `/destinations/${id}`, { address: 'present@example.com' });
  expect(await show(id)).toMatchObject({ address: 'present@example.com', unsubscribed_at: null });
  expect((await press(address)).status).toBe(200);
  expect((await show(id))['unsubscribed_at']).toBeNull();
});

test('a budget that is used up too fast is mailed once, while there is something left of it', async () => {
  const company = await turnpike.admin('POST', '/accounts', { name: 'acme', credit: '5.00' });
  const of = company['id'] as string;
  const person = await turnpike.admin('POST', '/people', { email: 'hasty@example.com', role: 'member', account: of });
  const { key: secret } = await turnpike.admin('POST', '/keys', { account: of, person: person['id'] });
  await turnpike.admin('POST', '/destinations', {
    ...{ kind: 'mail', address: 'budgets@example.com', types: ['budget.burning'] },
  });
  const body = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'a '.repeat(200) }] };
  expect((await turnpike.post(secret as string, body)).status).toBe(200);
  const { data: usage } = (await turnpike.admin('GET', `/usage?account=${of}`)) as { data: { cost: string }[] };
  const limit = (Number(usage[0]?.cost) * 1.8).toFixed(9);
  const budget = { limits: [{ window: '5h', limit }], stops: false };
  await turnpike.admin('PATCH', `/people/${person['id']}/budget`, budget);
  const mail = await untilMail('budgets@example.com', 1);
  expect(mail?.text).toContain(' of the 5-hour budget of the user hasty@example.com ');
  const { data: found } = (await turnpike.admin('GET', `/events?account=${of}&type=budget.burning`)) as {
    data: { data: Record<string, unknown> }[];
  };
  expect(found.map(({ data }) => [data['window'], data['speed'], data['person']])).toEqual([
    ['5h', 'fast', person['id']],
  ]);
});

test('mails of an account are sent to its enabled people only, also if an operator creates the destination', async () => {
  const email = 'ada@example.com';
  await expect(addMail(email, account)).rejects.toThrow('must be the email address of an enabled person');
  const person = await turnpike.admin('POST', '/people', { email, role: 'member', account });
  await expect(addMail(email, account)).rejects.toThrow('must be the email address of an enabled person');
  await turnpike.admin('PATCH', `/people/${person['id']}`, { status: 'enabled' });
  const { id } = await addMail(email, account);
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
  await untilTested(id); // deliveries are in order: none of an earlier event is left
  const before = mailsTo(email).length;
  await turnpike.admin('PATCH', `/people/${person['id']}`, { status: 'disabled' });
  await turnpike.admin('POST', '/keys', { account });
  const endMs = Date.now() + 30_000;
  while ((await show(id))['status'] === 'enabled' && Date.now() < endMs) await Bun.sleep(50);
  expect(await show(id)).toMatchObject({
    status: 'disabled',
    disabled_reason: 'its address is not that of an enabled person of the account',
  });
  expect(mailsTo(email)).toHaveLength(before);
});

test('a holder can send a bounded number of tests, and an operator more', async () => {
  const person = await turnpike.admin('POST', '/people', { email: 'flood@example.com', role: 'owner', account });
  await turnpike.admin('PATCH', `/people/${person['id']}`, { status: 'enabled' });
  const { id } = await addMail('flood@example.com', account);
  const { token } = await turnpike.admin('POST', '/tokens', { name: 'owner', role: 'owner', account });
  const sendTest = async () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = `${turnpike.url}/api/v1/destinations/${id}/test`;
    return (await fetch(url, { method: 'POST', headers, body: '{}' })).status;
  };
  const statuses: number[] = [];
  for (let times = 0; times <= bounds.sentByHandPerHourMax; times++) statuses.push(await sendTest());
  expect(statuses.map((status) => (status === 200 ? '' : status)).join('')).toBe('429');
  await turnpike.admin('POST', `/destinations/${id}/test`, {});
});
