// Tests of bin/with-bun when node_modules does not match the lock file.

import { afterEach, expect, test } from 'bun:test';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootDirectory } from '../../check.ts';

const directory = mkdtempSync(join(tmpdir(), 'turnpike-with-bun-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a node_modules that links to another checkout is used, and never changed', async () => {
  const [checkout, others] = [join(directory, 'checkout'), join(directory, 'others')];
  mkdirSync(join(checkout, 'bin'), { recursive: true });
  mkdirSync(join(others, '@oven', 'bun-linux-x64', 'bin'), { recursive: true });
  copyFileSync(join(rootDirectory, 'bin', 'with-bun'), join(checkout, 'bin', 'with-bun'));
  writeFileSync(join(checkout, 'package-lock.json'), '{ "another": "version" }');
  symlinkSync(process.execPath, join(others, '@oven', 'bun-linux-x64', 'bin', 'bun'));
  symlinkSync(others, join(checkout, 'node_modules'));
  const installed = join(directory, 'npm-was-called');
  mkdirSync(join(directory, 'path'));
  writeFileSync(join(directory, 'path', 'npm'), `#!/bin/sh\ntouch ${installed}\n`);
  chmodSync(join(directory, 'path', 'npm'), 0o755);

  const child = Bun.spawn(['sh', join(checkout, 'bin', 'with-bun'), 'production', '--version'], {
    env: { PATH: `${join(directory, 'path')}:/usr/bin:/bin` },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  expect(await new Response(child.stdout).text()).toBe(`${Bun.version}\n`);
  expect(await child.exited).toBe(0);
  expect(existsSync(installed)).toBe(false);
});
