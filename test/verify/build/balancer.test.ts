// HAProxy and nginx with the configurations of deploy/, in front of real nodes: they pass messages unchanged, and
// handle stopped nodes.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import { makeCertificate } from '../../support/make-certificate.ts';
import { goodOffers, negotiateTls, weakOffers } from '../../support/negotiate-tls.ts';
import {
  type Answer,
  type RecordedRequest,
  type ScriptedUpstream,
  scripts,
  startScriptedUpstream,
} from '../../support/scripted-upstream.ts';
import { type Balancer, type BalancerName, findBalancer, startBalancer } from '../../support/start-balancer.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';
import { applyEverywhere, type Nodes, type ServiceNode, startNodes } from '../nodes/start-nodes.ts';

const names: readonly BalancerName[] = ['haproxy', 'nginx'];
const SETUP_MS_MAX = 30_000;
const MESSAGES = 30;
const CALLER_ADDRESS = '127.0.0.2'; // Differs from the load balancer's address.
const CLAIMED_ADDRESS = '203.0.113.9';

const echo = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] };

async function errorOf(response: Response): Promise<{ status: number; type: string; code?: string }> {
  const { error } = (await response.json()) as { error: { type: string; code?: string } };
  return { status: response.status, type: error.type, ...(error.code !== undefined && { code: error.code }) };
}

describe.each(names)('%s', (name) => {
  describe.skipIf(findBalancer(name) === null || cannotStartPostgres)('before two nodes', () => {
    let nodes: Nodes;
    let first: ServiceNode;
    let second: ServiceNode;
    let upstream: ScriptedUpstream;
    let balancer: Balancer;
    let secret: string;
    beforeAll(async () => {
      upstream = await startScriptedUpstream(scripts.good());
      nodes = await startNodes(2);
      [first, second] = nodes.all as [ServiceNode, ServiceNode];
      const far = { kind: 'anthropic', base_url: upstream.url, api_key: 'x', private_network: true };
      const models = { far: { price: { input: '1', output: '1' }, routes: [{ provider: 'far' }] } };
      await applyEverywhere(nodes, { providers: { far }, models });
      balancer = await startBalancer(name, [`127.0.0.1:${first.port}`, `127.0.0.1:${second.port}`]);
      ({ secret } = await first.service.makeKey({ credit: '100.00' }));
    }, SETUP_MS_MAX);
    afterAll(async () => {
      await balancer?.[Symbol.asyncDispose]();
      await nodes?.[Symbol.asyncDispose]();
      await upstream?.close();
    });

    const post = (body: object | string, headers: Record<string, string> = {}) =>
      fetch(`${balancer.url}/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': secret, ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });

    test('events arrive unbuffered', async () => {
      const { promise: wasSeen, resolve: seen } = Promise.withResolvers<void>();
      upstream.play(async (answer, request) => {
        const { head, rest } = await wholeStream(request);
        answer.begin(200, { 'content-type': 'text/event-stream' });
        await answer.write(head);
        await wasSeen;
        await answer.write(rest);
        answer.end();
      });
      const response = await post({ ...echo, model: 'far', stream: true });
      let text = '';
      for await (const piece of response.body as ReadableStream<Uint8Array>) {
        text += new TextDecoder().decode(piece);
        if (text.includes('event: content_block_delta')) seen();
      }
      expect(text).toContain('event: message_stop');
    });

    test('a refusal reaches a client that is still sending a long body, and takes no node out of rotation', async () => {
      for (let count = 0; count < 2; count++) {
        const unknown = await post('a'.repeat(5_000_000), { 'x-api-key': 'sk-tp-unknown' });
        expect(await errorOf(unknown)).toEqual({ status: 401, type: 'authentication_error', code: 'key_invalid' });
        const tooLong = await post('a'.repeat(34_000_000));
        expect(await errorOf(tooLong)).toEqual({ status: 413, type: 'request_too_large', code: 'body_too_large' });
      }
      for (let count = 0; count < 4; count++) expect((await post(echo)).status).toBe(200);
    });

    test('a client is identified by its own address, whatever headers it sends', async () => {
      const { secret: its } = await first.service.makeKey({}, { addresses: [CALLER_ADDRESS] });
      const { secret: claimed } = await first.service.makeKey({}, { addresses: [CLAIMED_ADDRESS] });
      expect(await postClaiming(balancer.url, its)).toContain('HTTP/1.1 200 ');
      expect(await postClaiming(balancer.url, claimed)).toContain('address_not_allowed');
      const overTls = await post(echo, { 'x-forwarded-proto': 'https' });
      expect(overTls.headers.has('strict-transport-security')).toBe(false);
    });

    test('a stopped node fails no later message', async () => {
      second.kill();
      await second.ended();
      const long = { ...echo, messages: [{ role: 'user', content: 'a'.repeat(300_000) }] };
      const answers = await Promise.all(Array.from({ length: MESSAGES }, (_, at) => post(at % 2 === 0 ? echo : long)));
      expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    });

    test('while all nodes stop, streams run to their end, and new requests get the reason from the nodes', async () => {
      await second.start();
      const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
      upstream.play(async (answer, request) => {
        const { head, rest } = await wholeStream(request);
        answer.begin(200, { 'content-type': 'text/event-stream' });
        await answer.write(head);
        await mayEnd;
        await answer.write(rest);
        answer.end();
      });
      const streams = await Promise.all(Array.from({ length: 4 }, () => post({ ...echo, model: 'far', stream: true })));
      const stopped = Promise.all(nodes.all.map((node) => node.stop()));
      while (name === 'haproxy' && !balancer.readLog().includes('no server available')) await Bun.sleep(20);
      // A node without a stream may have stopped already.
      const statusOf = ({ port }: ServiceNode) =>
        fetch(`http://127.0.0.1:${port}/readyz`).then(
          ({ status }) => status,
          () => 503,
        );
      for (const node of nodes.all) while ((await statusOf(node)) !== 503) await Bun.sleep(20);
      expect(await errorOf(await post(echo))).toEqual({ status: 503, type: 'api_error', code: 'draining' });
      end();
      for (const stream of streams) expect(await stream.text()).toContain('event: message_stop');
      expect(await stopped).toEqual([0, 0]);
    });

    test('without a running node the answer is an error in the API’s format', async () => {
      const { status, type } = await errorOf(await post(echo, { connection: 'close' }));
      expect([502, 503]).toContain(status);
      expect(type).toBe('api_error');
    });
  });

  describe.skipIf(findBalancer(name) === null)('before nodes that break', () => {
    test('each message has its own connection to a node, so that none is sent on one that the node has closed', async () => {
      const connections = new Set<object>();
      const node = createServer((socket) => {
        socket.on('error', () => {});
        socket.on('data', (bytes) => {
          if (bytes.toString().startsWith('POST ')) connections.add(socket);
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
        });
      });
      const address = `127.0.0.1:${await listenAnywhere(node)}`;
      await using balancer = await startBalancer(name, [address, address]);
      for (let count = 0; count < 3; count++)
        await (await fetch(`${balancer.url}/v1/messages`, { method: 'POST', body: '{}' })).text();
      expect(connections.size).toBe(3);
      node.close();
    });

    test('a message that may have reached a node is not sent to another', async () => {
      let received = 0;
      const nodes = Array.from({ length: 2 }, () =>
        createServer((socket) => {
          socket.on('error', () => {});
          socket.on('data', (bytes) => {
            if (bytes.toString().startsWith('GET '))
              socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}');
            else if (bytes.toString().startsWith('POST ')) {
              received++;
              socket.destroy();
            }
          });
        }),
      );
      const ports = await Promise.all(nodes.map(listenAnywhere));
      await using balancer = await startBalancer(
        name,
        ports.map((port) => `127.0.0.1:${port}`),
      );
      const response = await fetch(`${balancer.url}/v1/messages`, {
        method: 'POST',
        body: JSON.stringify(echo),
        keepalive: false,
      });
      expect(await errorOf(response)).toEqual({ status: 502, type: 'api_error' });
      expect(received).toBe(1);
      for (const node of nodes) node.close();
    });
  });

  test.skipIf(findBalancer(name) === null)(
    'with its TLS lines, only strong versions and ciphers are accepted',
    async () => {
      for (const [kind, key] of [
        ['ECDSA', 'ec'],
        ['RSA', 'rsa'],
      ] as const) {
        const node = createServer((socket) => {
          socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}'));
        });
        const address = `127.0.0.1:${await listenAnywhere(node)}`;
        await using balancer = await startBalancer(name, [address, address], makeCertificate('one', undefined, key));
        const port = balancer.tlsPort as number;
        for (const [offer, cipher] of goodOffers(kind)) expect(await negotiateTls(port, offer)).toStartWith(cipher);
        for (const offer of weakOffers) expect([offer, await negotiateTls(port, offer)]).toEqual([offer, null]);
        node.close();
      }
    },
  );
});

/** Sends it from the client's address, with a forged address header. Resolves to the raw response. */
function postClaiming(url: string, secret: string): Promise<string> {
  const { port } = new URL(url);
  const body = JSON.stringify(echo);
  const head = [
    'POST /v1/messages HTTP/1.1',
    'host: balancer',
    'connection: close',
    'content-type: application/json',
    `content-length: ${body.length}`,
    `x-api-key: ${secret}`,
    `x-forwarded-for: ${CLAIMED_ADDRESS}`,
  ];
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect({ host: '127.0.0.1', port: Number(port), localAddress: CALLER_ADDRESS });
    socket.on('connect', () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`));
    socket.on('data', (bytes) => {
      answer += bytes;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

/** A provider's stream, split in the middle of its text. */
async function wholeStream(request: RecordedRequest): Promise<{ head: string; rest: string }> {
  let events = '';
  const into: Answer = {
    send() {},
    begin() {},
    async write(piece) {
      events += piece;
    },
    end() {},
    drop() {},
    reset() {},
    isGone: false,
  };
  await scripts.good()(into, request);
  const middle = events.indexOf('event: content_block_stop');
  return { head: events.slice(0, middle), rest: events.slice(middle) };
}

function listenAnywhere(server: ReturnType<typeof createServer>): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
  });
}
