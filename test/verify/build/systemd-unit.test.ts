// deploy/turnpike.service: systemd accepts it and rates its exposure, and Turnpike works under its restrictions.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DEFAULT_SETTINGS } from '../../../src/catalog/settings.ts';
import { rootDirectory } from '../../check.ts';
import { readText } from '../../sources.ts';
import { type Booted, bootUnit, canBoot } from '../../support/boot-unit.ts';
import { readBlocks } from '../../support/read-blocks.ts';
import { readDeployed } from '../../support/start-balancer.ts';

const EXPOSURE_MAX = 30; // in tenths: below 3.0
const BOOT_MS_MAX = 150_000;
const STOP_SECONDS_MAX = 15; // after the drain: responses in transit, and the store's last bills

const unit = readDeployed('turnpike.service');
const analyze = Bun.which('systemd-analyze');

let home: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'turnpike-unit-'));
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

function examine(text: string, ...given: string[]) {
  const file = join(home, 'turnpike.service');
  writeFileSync(file, text);
  const { exitCode, stdout, stderr } = Bun.spawnSync([analyze ?? '', ...given, file]);
  return { exitCode, out: stdout.toString(), errors: stderr.toString() };
}

test('docs/operating.md shows the unit of deploy/', () => {
  const shown = readBlocks(readText('docs/operating.md') ?? '').filter(({ language }) => language === 'ini');
  expect(shown.map(({ code }) => code.trim())).toContain(unit.trim());
});

test('systemd waits longer than a node drains, and never gives up a start', () => {
  const seconds = Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]);
  const { settings } = parse(readDeployed('turnpike.yaml')) as { settings: { drain_notice_seconds: number } };
  const least = DEFAULT_SETTINGS.drainSeconds + settings.drain_notice_seconds + STOP_SECONDS_MAX;
  expect(seconds).toBeGreaterThanOrEqual(least);
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(unit).toMatch(/^Restart=always$/m);
});

describe.skipIf(analyze === null)('systemd-analyze', () => {
  test('finds no fault in the unit', () => {
    // Only the path of the program is that of this checkout.
    const here = unit.replace('=/opt/turnpike/bin/turnpike', `=${join(rootDirectory, 'bin/turnpike')}`);
    expect(examine(here, 'verify')).toEqual({ exitCode: 0, out: '', errors: '' });
    const { errors } = examine(here.replace('ProtectHome=yes', 'ProtectHome=maybe'), 'verify');
    expect(errors).toContain('protect home');
  });

  test('rates its exposure below 3.0', () => {
    const rate = ['security', '--offline=true', '--no-pager', `--threshold=${EXPOSURE_MAX}`];
    expect(examine(unit, ...rate).exitCode).toBe(0);
    // Without its restrictions it is above.
    expect(examine(unit.replace(/^(?:Protect|Restrict|SystemCall|Capability).*$/gm, ''), ...rate).exitCode).toBe(1);
  });
});

if (canBoot())
  describe('under the restrictions of the unit', () => {
    const url = 'http://127.0.0.1:8080';
    let machine: Booted;
    beforeAll(async () => {
      machine = await bootUnit(unit);
      // The first account is created after the ports are open, before this line.
      await machine.wait((log) => log.includes('listening on'), 'journalctl', '--unit=turnpike', '--no-pager');
    }, BOOT_MS_MAX);
    afterAll(() => machine?.[Symbol.asyncDispose](), BOOT_MS_MAX);

    const isReady = () => machine.wait((answer) => answer.includes('"ready"'), 'curl', '-s', `${url}/readyz`);
    const curl = (...given: string[]) => machine.run('curl', '-s', '--fail-with-body', '--max-time', '60', ...given);
    const post = (path: string, body: object, ...given: string[]) =>
      curl(`${url}${path}`, '-H', 'content-type: application/json', '-d', JSON.stringify(body), ...given);
    const read = (file: string) => machine.run('cat', `/var/lib/turnpike/${file}`);
    const show = (property: string) =>
      machine.run('systemctl', 'show', '--value', `--property=${property}`, 'turnpike').trim();

    test('the process has no capabilities, gets none, and may not make all system calls', () => {
      const status = machine.run('cat', `/proc/${show('MainPID')}/status`);
      expect(status).toMatch(/^Uid:\t990\t990\t990\t990$/m);
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
      expect(status).toMatch(/^Seccomp:\t2$/m);
    });

    test('messages are answered and billed', () => {
      const key = /sk-tp-\w+/.exec(read('first-key.txt'))?.[0];
      const message = { model: 'sandbox-echo', max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] };
      expect(post('/v1/messages', message, '-H', `x-api-key: ${key}`)).toContain('"text":"Hello"');
      const { token } = JSON.parse(read('operator.json')) as { token: string };
      expect(curl(`${url}/api/v1/usage`, '-H', `authorization: Bearer ${token}`)).toContain('"completed"');
    });

    test('the console is served, and people sign in', () => {
      expect(curl(`${url}/console/`)).toContain('<script');
      const [, secret] = read('first-operator.txt').trim().split('#');
      const person = { email: 'ada@example.com', name: 'Ada', password: 'a long password of Ada' };
      post('/api/v1/invitations/accept', { secret, ...person });
      const { email, password } = person;
      expect(post('/console/auth/sign-in/email', { email, password }, '-H', `origin: ${url}`, '-i')).toContain(
        ' 200 OK',
      );
    });

    test('a killed process is started again, and a stopped one ends with 0', async () => {
      machine.run('kill', '-KILL', show('MainPID'));
      await machine.wait(
        (count) => count.trim() === '1',
        'systemctl',
        'show',
        '--value',
        '--property=NRestarts',
        'turnpike',
      );
      await isReady();
      machine.run('systemctl', 'stop', 'turnpike');
      expect([show('Result'), show('ExecMainStatus')]).toEqual(['success', '0']);
    });
  });
