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
  expect(read({})).toMatchObject({ config: { publicUrl: null, issuers: [] }, faults: [] });
});

test('all settings are read, including a name for the button', () => {
  const { config, faults } = read(whole);
  expect(faults).toEqual([]);
  expect(config.publicUrl).toBe('https://turnpike.example.com');
  expect(config.issuers).toEqual([
    {
      id: 'oidc',
      issuer: 'https://id.example.com/realms/one',
      clientId: 'turnpike',
      clientSecret: 'secret',
      name: 'single sign-on',
      isEmailAssumed: false,
      domains: null,
      createsPeople: false,
      groupsClaim: 'groups',
      scopes: ['openid', 'email', 'profile'],
    },
  ]);
  expect(read({ ...whole, TURNPIKE_OIDC_NAME: 'Example ID' }).config.issuers[0]?.name).toBe('Example ID');
  expect(read({ ...whole, TURNPIKE_OIDC_EMAIL_VERIFIED: 'assumed' }).config.issuers[0]?.isEmailAssumed).toBe(true);
});

test('the public address can be set without an issuer', () => {
  expect(read({ TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com:8443/' })).toMatchObject({
    config: { publicUrl: 'https://turnpike.example.com:8443', issuers: [] },
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

  test.each([
    ['TURNPIKE_OIDC_PEOPLE', 'everybody'],
    ['TURNPIKE_OIDC_DOMAINS', 'example'],
    ['TURNPIKE_OIDC_DOMAINS', 'example.com,'],
    ['TURNPIKE_OIDC_GROUPS_CLAIM', 'two words'],
    ['TURNPIKE_OIDC_SCOPES', 'openid groups'],
    ['TURNPIKE_OIDC_SCOPES', 'openid  email'],
  ])('for an invalid value: %s=%s', (name, value) => {
    expect(read({ ...whole, [name]: value }).faults).toEqual([expect.stringContaining(`${name}: must be`)]);
  });

  test('if people are to be created at any domain', () => {
    const created = { ...whole, TURNPIKE_OIDC_PEOPLE: 'created' };
    expect(read(created).faults).toEqual([expect.stringContaining('TURNPIKE_OIDC_DOMAINS: must be set with')]);
    expect(read({ ...created, TURNPIKE_OIDC_DOMAINS: 'example.com' }).faults).toEqual([]);
  });

  test('of several issuers, with the number of each', () => {
    const second = Object.entries(whole).map(([name, value]) => [name.replace('OIDC_', 'OIDC_2_'), value]);
    const both = { ...whole, ...Object.fromEntries(second), TURNPIKE_OIDC_2_ISSUER: 'https://id.example.org' };
    expect(read(both).faults).toEqual([
      expect.stringContaining('TURNPIKE_OIDC_DOMAINS: must be set with several issuers'),
      expect.stringContaining('TURNPIKE_OIDC_2_DOMAINS: must be set with several issuers'),
    ]);
    const stated = {
      ...both,
      TURNPIKE_OIDC_DOMAINS: 'example.com',
      TURNPIKE_OIDC_2_DOMAINS: 'Example.org, example.net',
    };
    expect(read(stated).faults).toEqual([]);
    expect(read(stated).config.issuers).toMatchObject([
      { id: 'oidc', domains: ['example.com'] },
      { id: 'oidc-2', domains: ['example.org', 'example.net'] },
    ]);
    expect(read({ ...stated, TURNPIKE_OIDC_2_ISSUER: whole.TURNPIKE_OIDC_ISSUER }).faults).toEqual([
      expect.stringContaining('TURNPIKE_OIDC_2_ISSUER: is the same'),
    ]);
    const { TURNPIKE_OIDC_2_CLIENT_ID: _, ...rest } = stated;
    expect(read(rest).faults).toEqual([expect.stringContaining('TURNPIKE_OIDC_2_CLIENT_ID: must be set')]);
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
