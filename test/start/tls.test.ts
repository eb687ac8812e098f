// The service over TLS, as a process of its own: messages, commands, a certificate that changes while a
// stream runs, and files that cannot be used.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { makeCertificate } from '../support/make-certificate.ts';
import { readSamples } from '../support/read-samples.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';

const ROOT = join(import.meta.dir, '..', '..');
const [first, second] = [makeCertificate('first'), makeCertificate('second')];
const directory = mkdtempSync(join(tmpdir(), 'turnpike-tls-'));
const paths = { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key') };
const flags = ['--tls-certificate', paths.certificate, '--tls-key', paths.key];
let turnpike: TurnpikeProcess;
let log = '';

beforeAll(async () => {
  write(first);
  turnpike = await spawnTurnpike(undefined, { TURNPIKE_LOG: 'json' }, flags);
  void collectLog(turnpike.process.stderr);
});

afterAll(async () => {
  await turnpike.stop();
  rmSync(directory, { recursive: true, force: true });
});

function write({ certificate, key }: typeof first): void {
  writeFileSync(paths.certificate, certificate);
  writeFileSync(paths.key, key);
}

async function collectLog(stderr: ReadableStream<Uint8Array>): Promise<void> {
  for await (const bytes of stderr) log += new TextDecoder().decode(bytes);
}

async function logged(words: string): Promise<void> {
  for (let tries = 0; tries < 500 && !log.includes(words); tries++) await Bun.sleep(10);
  expect(log).toContain(words);
}

/** A client that believes this certificate and no other. */
const clientOf = ({ certificate }: typeof first) =>
  new Anthropic({
    apiKey: turnpike.key,
    baseURL: turnpike.url,
    maxRetries: 0,
    fetch: (url, init) => fetch(url as string, { ...init, tls: { ca: certificate }, keepalive: false }),
  });

const asked = { model: 'sandbox-echo', max_tokens: 100, messages: [{ role: 'user' as const, content: 'over TLS' }] };

const ask = async (believed: typeof first) => await clientOf(believed).messages.create(asked);

test('a message and a stream go over TLS to a client that believes the certificate', async () => {
  expect(turnpike.url).toStartWith('https://');
  const probe = await fetch(`${turnpike.url}/healthz`, { tls: { ca: first.certificate } });
  expect(probe.headers.get('strict-transport-security')).toBe('max-age=31536000');
  const message = await ask(first);
  expect(message.content).toMatchObject([{ type: 'text', text: 'over TLS' }]);
  const stream = await clientOf(first).messages.stream(asked).finalMessage();
  expect(stream.content).toMatchObject([{ type: 'text', text: 'over TLS' }]);
  await expect(ask(second)).rejects.toThrow();
});

test('at SIGHUP a changed certificate is in force, and a stream that runs goes on to its end', async () => {
  const running = clientOf(first).messages.stream({ ...asked, model: 'sandbox-lorem', max_tokens: 400 });
  const begun = Promise.withResolvers<void>();
  running.on('streamEvent', () => begun.resolve());
  await begun.promise;
  write(second);
  const lines = log.split('certificate_used').length;
  turnpike.process.kill('SIGHUP');
  for (let tries = 0; tries < 500 && log.split('certificate_used').length === lines; tries++) await Bun.sleep(10);
  expect((await ask(second)).stop_reason).toBe('end_turn');
  await expect(ask(first)).rejects.toThrow();
  const { stop_reason, usage } = await running.finalMessage();
  expect([stop_reason, usage.output_tokens]).toEqual(['max_tokens', 400]);
  expect(await turnpike.admin('GET', '/accounts')).toBeObject(); // over a new connection, as commands do
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('the metrics tell when the certificate in use ends', async () => {
  const samples = readSamples(await (await turnpike.scrape()).text());
  const endsAtMs = new X509Certificate(second.certificate).validToDate.getTime();
  expect(samples['turnpike_certificate_expiry_timestamp_seconds']).toBe(endsAtMs / 1000);
});

test('a wrong pair is told in the log, and the one before it stays', async () => {
  writeFileSync(paths.key, first.key);
  turnpike.process.kill('SIGHUP');
  await logged('certificate_refused');
  expect(log).toContain('is not the key of the certificate in');
  expect((await ask(second)).stop_reason).toBe('end_turn');
});

test('files that cannot be used keep it from starting, and are told by their flag', async () => {
  const unfit = join(directory, 'unfit.key');
  writeFileSync(unfit, makeCertificate('third').key);
  const child = Bun.spawn(
    [
      ...[process.execPath, join(ROOT, 'src/main.ts'), 'serve', '--listen', '127.0.0.1:0'],
      ...['--data', join(directory, 'data'), '--tls-certificate', paths.certificate, '--tls-key', unfit],
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  expect(await new Response(child.stderr).text()).toContain(`--tls-key: ${unfit} is not the key of the certificate in`);
  expect(await child.exited).toBe(1);
});
