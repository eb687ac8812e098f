// The settings of single sign-on: all or none, each fault with the name of its variable.

import { describe, expect, test } from 'bun:test';
import { inspectConfig } from '../../../src/config/config.ts';

const whole = {
  TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
  TURNPIKE_OIDC_ISSUER: 'https://id.example.com/realms/one',
  TURNPIKE_OIDC_CLIENT_ID: 'turnpike',
  TURNPIKE_OIDC_CLIENT_SECRET: 'secret',
};

const read = (environment: Record<string, string>) => inspectConfig({}, environment);

test('without any of the settings there is no single sign-on, and no fault', () => {
  expect(read({})).toMatchObject({ config: { publicUrl: null, oidc: null }, faults: [] });
});

test('all settings are read, including a name for the button', () => {
  const { config, faults } = read(whole);
  expect(faults).toEqual([]);
  expect(config.publicUrl).toBe('https://turnpike.example.com');
  expect(config.oidc).toEqual({
    issuer: 'https://id.example.com/realms/one',
    clientId: 'turnpike',
    clientSecret: 'secret',
    name: 'single sign-on',
    isEmailAssumed: false,
  });
  expect(read({ ...whole, TURNPIKE_OIDC_NAME: 'Example ID' }).config.oidc?.name).toBe('Example ID');
  expect(read({ ...whole, TURNPIKE_OIDC_EMAIL_VERIFIED: 'assumed' }).config.oidc?.isEmailAssumed).toBe(true);
});

test('the public address can be set without an issuer', () => {
  expect(read({ TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com:8443/' })).toMatchObject({
    config: { publicUrl: 'https://turnpike.example.com:8443', oidc: null },
    faults: [],
  });
});

describe('the faults name the variable', () => {
  test.each(Object.keys(whole))('if only %s is missing', (name) => {
    const { [name]: _, ...rest } = whole as Record<string, string>;
    expect(read(rest).faults).toEqual([expect.stringContaining(name)]);
  });

  test.each([
    ['TURNPIKE_PUBLIC_URL', 'http://turnpike.example.com'],
    ['TURNPIKE_PUBLIC_URL', 'https://turnpike.example.com/console'],
    ['TURNPIKE_PUBLIC_URL', 'https://somebody@turnpike.example.com'],
    ['TURNPIKE_PUBLIC_URL', 'turnpike.example.com'],
    ['TURNPIKE_OIDC_ISSUER', 'http://id.example.com'],
    ['TURNPIKE_OIDC_ISSUER', 'https://id.example.com/?realm=one'],
    ['TURNPIKE_OIDC_ISSUER', 'id.example.com'],
    ['TURNPIKE_OIDC_EMAIL_VERIFIED', 'true'],
  ])('for an invalid value: %s=%s', (name, value) => {
    expect(read({ ...whole, [name]: value }).faults).toEqual([expect.stringContaining(`${name}: must be`)]);
  });

  test.each([
    ['TURNPIKE_OIDC_NAME', { TURNPIKE_OIDC_NAME: 'x' }],
    ['TURNPIKE_OIDC_EMAIL_VERIFIED', { TURNPIKE_OIDC_EMAIL_VERIFIED: 'assumed' }],
  ])('if only %s is set', (_, alone) => {
    expect(read(alone).faults.join()).toContain('TURNPIKE_OIDC_ISSUER');
  });

  test('without showing the client secret', () => {
    const { TURNPIKE_OIDC_ISSUER: _, ...rest } = { ...whole, TURNPIKE_OIDC_CLIENT_SECRET: 'not-to-be-shown' };
    expect(read(rest).faults.join()).not.toContain('not-to-be-shown');
  });
});

test.each(['http://127.0.0.1:9000', 'http://localhost:9000', 'http://[::1]:9000'])(
  'an issuer on this machine may use HTTP without TLS: %s',
  (issuer) => {
    expect(read({ ...whole, TURNPIKE_OIDC_ISSUER: issuer }).faults).toEqual([]);
  },
);
