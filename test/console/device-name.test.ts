// Names of devices in the list of sessions.

import { expect, test } from 'bun:test';
import { nameDevice } from '../../console/features/profile/sessions.tsx';

const LINUX = 'Mozilla/5.0 (X11; Linux x86_64)';
const PHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)';

test.each([
  [`${LINUX} AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36`, 'Chrome on Linux'],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0 Safari/537.36 Edg/140.0', 'Edge on Windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:144.0) Gecko/20100101 Firefox/144.0', 'Firefox on macOS'],
  [`${PHONE} AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1`, 'Safari on iPhone'],
  ['Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36', 'Chrome on Android'],
])('%s is named %s', (userAgent, name) => {
  expect(nameDevice(userAgent)).toBe(name);
});

test('an unknown user agent is shown as it is, truncated', () => {
  expect(nameDevice('curl/8.5.0')).toBe('curl/8.5.0');
  expect(nameDevice('x'.repeat(5_000))).toHaveLength(60);
  expect(nameDevice('')).not.toBe('');
  expect(nameDevice(null)).toBe(nameDevice(undefined));
});
