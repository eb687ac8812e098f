// The libraries of clouds cost nothing where no credential needs them.

import { expect, test } from 'bun:test';
import { join } from 'node:path';

test('a service without a credential of a cloud loads no library of one', async () => {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'cloud-libraries-worker.ts')], {
    env: { ...process.env, AWS_EC2_METADATA_DISABLED: 'true', AWS_CONFIG_FILE: '/dev/null' },
    stdout: 'pipe',
    stderr: 'inherit',
  });
  const { modules, before, after } = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>;
  expect(modules).toBeGreaterThan(100); // the registry has what was loaded
  expect(before).toBe(0);
  expect(after).toBeGreaterThan(0);
});
