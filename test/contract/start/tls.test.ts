// The service over TLS as a process: messages, commands, a certificate that changes during a stream, and unusable files.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { makeCertificate } from '../../support/make-certificate.ts';
import { readSamples } from '../../support/read-samples.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';

const ROOT = join(import.meta.dir, '..', '..', '..');
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

/** A client that trusts only this certificate. */
const clientOf = ({ certificate }: typeof first) =>
  new Anthropic({
    apiKey: turnpike.key,
    baseURL: turnpike.url,
    maxRetries: 0,
    fetch: (url, init) => fetch(url as string, { ...init, tls: { ca: certificate }, keepalive: false }),
  });

const request = { model: 'sandbox-echo', max_tokens: 100, messages: [{ role: 'user' as const, content: 'over TLS' }] };

const ask = async (believed: typeof first) => await clientOf(believed).messages.create(request);

test('a client that trusts the certificate gets messages and streams over TLS', async () => {
  expect(turnpike.url).toStartWith('https://');
  const probe = await fetch(`${turnpike.url}/healthz`, { tls: { ca: first.certificate } });
  expect(probe.headers.get('strict-transport-security')).toBe('max-age=31536000');
  const message = await ask(first);
  expect(message.content).toMatchObject([{ type: 'text', text: 'over TLS' }]);
  const stream = await clientOf(first).messages.stream(request).finalMessage();
  expect(stream.content).toMatchObject([{ type: 'text', text: 'over TLS' }]);
  await expect(ask(second)).rejects.toThrow();
});

test('SIGHUP applies a changed certificate, and running streams finish', async () => {
  const running = clientOf(first).messages.stream({ ...request, model: 'sandbox-lorem', max_tokens: 400 });
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
  expect(await turnpike.admin('GET', '/accounts')).toBeObject(); // over a new connection, like those of commands
  expect(await turnpike.check()).toMatchObject({ ok: true, open_holds: 0 });
});

test('the metrics show when the certificate in use expires', async () => {
  const samples = readSamples(await (await turnpike.scrape()).text());
  const endsAtMs = new X509Certificate(second.certificate).validToDate.getTime();
  expect(samples['turnpike_certificate_expiry_timestamp_seconds']).toBe(endsAtMs / 1000);
});

test('an invalid pair is logged, and the previous one stays in use', async () => {
  writeFileSync(paths.key, first.key);
  turnpike.process.kill('SIGHUP');
  await logged('certificate_refused');
  expect(log).toContain('does not match the certificate in');
  expect((await ask(second)).stop_reason).toBe('end_turn');
});

test('unusable certificate files prevent the start and are reported with their flag', async () => {
  const invalid = join(directory, 'unfit.key');
  writeFileSync(invalid, makeCertificate('third').key);
  const child = Bun.spawn(
    [
      ...[process.execPath, join(ROOT, 'src/main.ts'), 'serve', '--listen', '127.0.0.1:0'],
      ...['--data', join(directory, 'data'), '--tls-certificate', paths.certificate, '--tls-key', invalid],
    ],
    { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' },
  );
  expect(await new Response(child.stderr).text()).toContain(`--tls-key: ${invalid} does not match the certificate in`);
  expect(await child.exited).toBe(1);
});
