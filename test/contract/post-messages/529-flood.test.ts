// Five hundred clients send bodies of 32 MB that together exceed the memory for bodies: those that do not fit get a
// 529, smaller requests are served meanwhile, the memory of the process stays bounded, and nothing is left behind.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { parseAnswer, type RawAnswer } from '../../support/held-requests.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const CALLERS = 500;
const MEGABYTE = 1024 * 1024;
const BODY_BYTES = 32 * MEGABYTE;
const GROWTH_MEGABYTES_MAX = 512; // of 16,000 MB that are sent
const piece = Buffer.alloc(64 * 1024, 'x');

const residentMegabytes = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

const headOf = (secret: string) =>
  `POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: ${secret}\r\ncontent-type: application/json\r\ncontent-length: ${BODY_BYTES}\r\n\r\n`;

/** Sends a body until a response arrives, as clients do; null if the connection closed without one. */
async function sendUntilAnswered(url: URL, secret: string): Promise<RawAnswer | null> {
  const { promise, resolve } = Promise.withResolvers<RawAnswer | null>();
  let left = BODY_BYTES;
  let received = Buffer.alloc(0);
  const send = (socket: Bun.Socket) => {
    const written = socket.write(piece.subarray(0, Math.min(left, piece.length)));
    left -= Math.max(0, written);
    if (written === piece.length && left > 0) setImmediate(send, socket);
  };
  await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      open(socket) {
        socket.write(headOf(secret));
        setImmediate(send, socket);
      },
      drain: send,
      data(socket, bytes) {
        received = Buffer.concat([received, bytes]);
        const answer = parseAnswer(received);
        if (answer === null) return;
        resolve(answer);
        socket.end();
      },
      close: () => resolve(null),
      error: () => resolve(null),
    },
  });
  return promise;
}

/** Occupies the memory for one body of 32 MB by sending it slowly, until the returned function is called. */
async function holdMemory(url: URL, secret: string): Promise<() => void> {
  const socket = await Bun.connect({ hostname: url.hostname, port: Number(url.port), socket: { data() {} } });
  socket.write(headOf(secret));
  const timer = setInterval(() => socket.write(piece), 500);
  return () => {
    clearInterval(timer);
    socket.end();
  };
}

/** Waits until the memory is occupied. Without this, one of the 500 clients could get it first. */
async function untilMemoryIsTaken(turnpike: Turnpike): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const metrics = await (await turnpike.scrape()).text();
    if (/^turnpike_bodies_in_flight_bytes [1-9]/m.test(metrics)) return;
    await Bun.sleep(10);
  }
  throw new Error('the memory was never taken');
}

test('a flood of bodies that exceed the memory for bodies is refused with little memory, and requests that fit are served', async () => {
  await using turnpike = await spawnTurnpike();
  await turnpike.admin('POST', '/apply', { document: { settings: { shed_body_bytes: BODY_BYTES + MEGABYTE } } });
  const url = new URL(turnpike.url);
  const body = { model: 'sandbox-echo', max_tokens: 1, messages: [{ role: 'user', content: 'hello' }] };
  const groups = { groups: ['sandbox'] };
  const [holder, flood, served] = [
    await turnpike.makeKey(groups),
    await turnpike.makeKey(groups),
    await turnpike.makeKey({ ...groups, credit: '100.00' }),
  ];
  const release = await holdMemory(url, holder.secret);
  await untilMemoryIsTaken(turnpike);
  const { pid } = turnpike.process;
  const beforeMegabytes = residentMegabytes(pid);
  let mostMegabytes = 0;
  const timer = setInterval(() => {
    mostMegabytes = Math.max(mostMegabytes, residentMegabytes(pid));
  }, 20);

  const refusing = Promise.all(Array.from({ length: CALLERS }, () => sendUntilAnswered(url, flood.secret)));
  const statuses: number[] = [];
  for (let turn = 0; turn < 20; turn++) {
    const response = await turnpike.post(served.secret, body);
    statuses.push(response.status);
    await response.text();
  }
  const refused = await refusing;
  clearInterval(timer);

  expect(statuses).toEqual(Array.from({ length: 20 }, () => 200));
  expect(refused.map((answer) => answer?.status)).toEqual(Array.from({ length: CALLERS }, () => 529));
  const waits = new Set(refused.map((answer) => answer?.headers['retry-after']));
  for (const wait of waits) expect(wait).toMatch(/^[1-5]$/);
  expect(waits.size).toBeGreaterThan(1); // the retry times differ
  expect(JSON.parse(refused[0]?.body ?? '')).toMatchObject({ error: { code: 'overloaded' } });
  expect(mostMegabytes - beforeMegabytes).toBeLessThan(GROWTH_MEGABYTES_MAX);

  release();
  const large = { ...body, messages: [{ role: 'user', content: 'x'.repeat(31 * MEGABYTE) }] };
  let status = 529;
  for (let tries = 0; tries < 100 && status === 529; tries++) {
    status = (await turnpike.post(served.secret, large)).status;
    if (status === 529) await Bun.sleep(50);
  }
  expect(status).toBe(200); // all of the memory is available again
  const { data } = (await turnpike.admin('GET', `/usage?account=${served.account}`)) as { data: { cost: string }[] };
  const paid = data.reduce((sum, { cost }) => sum + Math.round(Number(cost) * 1e9), 0);
  expect(data).toHaveLength(21);
  const { balance, held } = await turnpike.admin('GET', `/accounts/${served.account}`);
  expect([Math.round(Number(balance) * 1e9), held]).toEqual([100e9 - paid, '0']);
  for (const { account } of [holder, flood])
    expect(await turnpike.admin('GET', `/accounts/${account}`)).toMatchObject({ balance: '10.00', held: '0' });
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0, faults: [] });
});
