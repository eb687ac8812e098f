// `npm run test:mail`: the service sends its mails to a real SMTP server, Python's aiosmtpd, which requires TLS and a
// password, and its parser reads them. With `-- DIRECTORY` it also draws the mails there with Chromium, in light and
// dark. Prints one line with the counts. Where Python or its packages cannot be had it says so, a failure under CI.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium as chromiumDriver } from 'playwright-core';
import { makeCertificate } from '../../support/make-certificate.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { chromium } from '../clients/open-browser.ts';

const INSTALL_MS_MAX = 240_000;
const MAIL_MS_MAX = 60_000;
const WIDTHS = [390, 700];
const isCi = !['', '0', 'false', undefined].includes(process.env['CI']);

interface ParsedMail {
  from: string;
  to: string[];
  is_tls: boolean;
  is_authenticated: boolean;
  headers: Record<string, string>;
  defects: string[];
  text: string;
  html: string;
}

const faults: string[] = [];
let passed = 0;
function check(what: string, isRight: boolean): void {
  if (isRight) passed++;
  else faults.push(what);
}

const directory = mkdtempSync(join(tmpdir(), 'mail-'));
try {
  const python = await installPython(directory);
  if (python === null) {
    console.log(`${'!'.repeat(20)} SKIPPED: for want of Python 3 with venv, or of its packages ${'!'.repeat(20)}`);
    process.exitCode = isCi ? 1 : 0;
  } else {
    await run(python);
    for (const fault of faults) console.log(`wrong: ${fault}`);
    console.log(`\n${passed} passed, ${faults.length} failed`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** Python with the packages, in an environment of its own; null where it cannot be had. */
async function installPython(parent: string): Promise<string | null> {
  const python = join(parent, 'venv', 'bin', 'python');
  const requirements = join(import.meta.dir, 'requirements.txt');
  const pip = ['-m', 'pip', 'install', '--quiet', '--no-input', '--disable-pip-version-check', '-r', requirements];
  const isThere = (await isDone(['python3', '-m', 'venv', join(parent, 'venv')])) && (await isDone([python, ...pip]));
  return isThere ? python : null;
}

async function isDone(command: string[]): Promise<boolean> {
  try {
    return (await Bun.spawn(command, { stdin: 'ignore', timeout: INSTALL_MS_MAX }).exited) === 0;
  } catch {
    return false; // no such program
  }
}

async function run(python: string): Promise<void> {
  const { certificate, key } = makeCertificate('localhost');
  const [certificatePath, keyPath] = [join(directory, 'certificate.pem'), join(directory, 'key.pem')];
  writeFileSync(certificatePath, certificate);
  writeFileSync(keyPath, key);
  const script = join(import.meta.dir, 'server.py');
  const server = Bun.spawn([python, '-W', 'ignore', script, certificatePath, keyPath], {
    stdin: 'ignore',
    stdout: 'pipe',
  });
  try {
    const lines = readLines(server.stdout);
    const port = (await lines.next()).value;
    const settings = join(directory, 'settings.yaml');
    writeFileSync(settings, 'settings: { sign_up: "on", sign_up_group: sandbox }\n');
    const environment = {
      TURNPIKE_SMTP_URL: `smtp://user%40example.com:p%25ss%2Fword@localhost:${port}?tls=required`,
      TURNPIKE_MAIL_FROM: 'Türnpike <turnpike@example.com>',
      TURNPIKE_PUBLIC_URL: 'https://console.example.com',
      NODE_EXTRA_CA_CERTS: certificatePath,
    };
    await using turnpike = await spawnTurnpike(undefined, environment, ['--apply', settings]);
    const mails = await sendAll(turnpike, lines);
    await drawAll(mails);
  } finally {
    server.kill();
    await server.exited;
  }
}

/** A mail of each kind that a person causes, in order. */
async function sendAll(turnpike: TurnpikeProcess, lines: AsyncGenerator<string>): Promise<Map<string, ParsedMail>> {
  const mails = new Map<string, ParsedMail>();
  const receive = async (name: string, to: string, subject: RegExp) => {
    const waited = await Promise.race([lines.next(), Bun.sleep(MAIL_MS_MAX)]);
    if (waited === undefined || waited.done === true) throw new Error(`the mail "${name}" did not arrive`);
    const mail = JSON.parse(waited.value) as ParsedMail;
    mails.set(name, mail);
    check(`${name}: from ${mail.from}`, mail.from === 'turnpike@example.com');
    check(`${name}: to ${mail.to}`, mail.to.join() === to && mail.headers['to'] === to);
    check(`${name}: over TLS, with the password`, mail.is_tls && mail.is_authenticated);
    check(`${name}: subject ${mail.headers['subject']}`, subject.test(mail.headers['subject'] ?? ''));
    check(`${name}: sender ${mail.headers['from']}`, mail.headers['from'] === 'Türnpike <turnpike@example.com>');
    check(`${name}: defects ${mail.defects}`, mail.defects.length === 0);
    check(`${name}: HTML`, mail.html.startsWith('<!doctype html>') && !/<img|src=/.test(mail.html));
    return /#(tk-[a-z]+-\w+)/.exec(mail.text)?.[1] ?? '';
  };
  const post = async (path: string, body: object) => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const { status } = await fetch(`${turnpike.url}/api/v1${path}`, init);
    check(`${path}: ${status}`, status === 200);
  };
  const email = 'ada@example.com';
  await post('/sign-ups', { email, name: 'Ada' });
  const token = await receive('sign-up', email, /^Confirm your email/);
  await post('/sign-ups/accept', { token, password: 'a first password' });
  await post('/sign-ups', { email, name: 'Ada' });
  await receive('sign-up-known', email, /^You already have access/);
  await post('/password-resets', { email });
  const reset = await receive('password-reset', email, /^Choose a new password/);
  await post('/password-resets/accept', { token: reset, password: 'a second password' });
  await receive('password-changed', email, /was changed$/);
  const account = (await turnpike.admin('POST', '/accounts', { name: 'Ärzte & Söhne – 日本' }))['id'];
  await turnpike.admin('POST', '/people', { email: 'eve@example.com', role: 'owner', account });
  await receive('invitation', 'eve@example.com', /^You are invited to /);
  check('the books are right', (await turnpike.check()).ok);
  return mails;
}

async function drawAll(mails: ReadonlyMap<string, ParsedMail>): Promise<void> {
  const place = process.argv[2];
  if (place === undefined || chromium === null) return;
  const browser = await chromiumDriver.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu'] });
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of WIDTHS) {
      const context = await browser.newContext({ colorScheme, viewport: { width, height: 600 } });
      const page = await context.newPage();
      for (const [name, { html }] of mails) {
        await page.setContent(html);
        await page.screenshot({ path: join(place, `${name}-${colorScheme}-${width}.png`), fullPage: true });
      }
      await context.close();
    }
  await browser.close();
}

async function* readLines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true });
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
      yield rest.slice(0, end);
      rest = rest.slice(end + 1);
    }
  }
}
