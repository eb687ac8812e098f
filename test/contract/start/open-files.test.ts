// A process at its limit of open files: new connections fail, and the service continues.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { attachTurnpike, serveCommand, type Turnpike } from '../../support/start-turnpike.ts';
import { storeVariables } from '../../support/test-store.ts';

const OPEN_FILES_MAX = 64; // more than a third of these are open before the first request

let directory: string;
let upstream: ScriptedUpstream;
let child: Bun.Subprocess<'ignore', 'pipe', 'ignore'>;
let port: number;
let secret: string;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-open-files-'));
  upstream = await startScriptedUpstream(scripts.good());
  const store = await storeVariables(directory);
  const serve = [...serveCommand(store), '--listen', '127.0.0.1:0', '--data', directory];
  child = Bun.spawn(['sh', '-c', `ulimit -n ${OPEN_FILES_MAX}; exec "$@"`, 'sh', ...serve], {
    env: { PATH: '/usr/bin:/bin', TURNPIKE_LOG: 'off', ...store },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const turnpike = await attachTurnpike(child.stdout, directory);
  port = Number(new URL(turnpike.url).port);
  secret = await sellRemote(turnpike);
});
afterAll(async () => {
  child.kill();
  await child.exited;
  await upstream.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Adds a model routed to the upstream, which has had no requests yet, and creates a key that may use it. */
async function sellRemote(turnpike: Turnpike): Promise<string> {
  const providers = { remote: { kind: 'anthropic', base_url: upstream.url, api_key: 'sk-x', private_network: true } };
  const models = { remote: { price: { input: '1', output: '5' }, routes: [{ provider: 'remote' }] } };
  await turnpike.admin('POST', '/apply', { document: { providers, models } });
  return (await turnpike.makeKey()).secret;
}

/** The response on an open connection; empty if there is none. */
function say(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve) => {
    const give = (answer: string) => {
      clearTimeout(timer);
      socket.removeAllListeners('data');
      resolve(answer);
    };
    const timer = setTimeout(() => give(''), 2_000);
    socket.once('data', (bytes) => give(String(bytes)));
    socket.write(text);
  });
}

function post(socket: Socket): Promise<string> {
  const body = JSON.stringify({ model: 'remote', max_tokens: 50, messages: [{ role: 'user', content: 'hello' }] });
  const head = [
    'POST /v1/messages HTTP/1.1',
    'host: localhost',
    `x-api-key: ${secret}`,
    'content-type: application/json',
  ];
  return say(socket, `${[...head, `content-length: ${body.length}`].join('\r\n')}\r\n\r\n${body}`);
}

test('running out of file descriptors is upstream_failed, and the next message is answered', async () => {
  const probe = 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const first = connect(port, '127.0.0.1');
  expect(await say(first, probe)).toStartWith('HTTP/1.1 200');
  const others = Array.from({ length: OPEN_FILES_MAX }, () => connect(port, '127.0.0.1'));
  const answers = await Promise.all(others.map((socket) => say(socket, probe)));
  expect(answers).toContain(''); // some connections are refused
  const refused = await post(first);
  expect(refused).toStartWith('HTTP/1.1 502');
  expect(refused).toContain('"upstream_failed"');
  for (const socket of others) socket.destroy();
  let answer = await post(first);
  for (let tries = 0; tries < 100 && !answer.startsWith('HTTP/1.1 200'); tries++) {
    await Bun.sleep(50); // the service closes the other sockets
    answer = await post(first);
  }
  expect(answer).toStartWith('HTTP/1.1 200');
  expect(child.exitCode).toBeNull();
  first.destroy();
});
