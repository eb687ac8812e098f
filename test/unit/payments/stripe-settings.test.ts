// The settings of Stripe: all or none, each fault with the name of its variable, and no value in any message.

import { describe, expect, test } from 'bun:test';
import { inspectConfig } from '../../../src/config/config.ts';

const whole = {
  TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
  TURNPIKE_STRIPE_SECRET_KEY: 'sk_test_51AbCdEfGhIj',
  TURNPIKE_STRIPE_WEBHOOK_SECRET: 'whsec_AbCdEfGhIjKl',
};

const read = (environment: Record<string, string>) => inspectConfig({}, environment);

test('without any of the settings no payments are taken', () => {
  expect(read({})).toMatchObject({ config: { stripe: null }, faults: [] });
});

test.each(['sk_test_51AbCdEfGhIj', 'sk_live_51AbCdEfGhIj', 'rk_test_51AbCdEfGhIj', 'rk_live_51AbCdEfGhIj'])(
  'a key %s is accepted',
  (key) => {
    const { config, faults } = read({ ...whole, TURNPIKE_STRIPE_SECRET_KEY: key });
    expect(faults).toEqual([]);
    expect(config.stripe).toEqual({ secretKey: key, webhookSecret: 'whsec_AbCdEfGhIjKl', apiUrl: null });
  },
);

test.each(['https://stripe.example.com', 'http://127.0.0.1:12111', 'http://localhost:12111/'])(
  'the API may be at %s',
  (url) => {
    const { config, faults } = read({ ...whole, TURNPIKE_STRIPE_API_URL: url });
    expect(faults).toEqual([]);
    expect(config.stripe?.apiUrl).toBe(new URL(url).origin);
  },
);

describe('the faults name the variable', () => {
  test.each(Object.keys(whole))('if only %s is missing', (name) => {
    const { [name]: _, ...rest } = whole as Record<string, string>;
    const { config, faults } = read(rest);
    expect(faults).toEqual([expect.stringContaining(name)]);
    expect(config.stripe).toBeNull();
  });

  test.each(['TURNPIKE_STRIPE_SECRET_KEY', 'TURNPIKE_STRIPE_WEBHOOK_SECRET'])('if %s is empty', (name) => {
    for (const empty of ['', ' \n']) {
      const { config, faults } = read({ ...whole, [name]: empty });
      expect(faults).toEqual([expect.stringContaining(`${name}: is empty`)]);
      expect(config.stripe).toBeNull();
      expect(read({ [name]: empty }).faults.join()).toContain(name);
    }
  });

  test.each([
    ['TURNPIKE_STRIPE_SECRET_KEY', 'pk_test_51AbCdEfGhIj'],
    ['TURNPIKE_STRIPE_SECRET_KEY', 'whsec_AbCdEfGhIjKl'],
    ['TURNPIKE_STRIPE_SECRET_KEY', 'sk_test_'],
    ['TURNPIKE_STRIPE_SECRET_KEY', 'sk_test_51AbCd EfGhIj'],
    ['TURNPIKE_STRIPE_WEBHOOK_SECRET', 'sk_test_51AbCdEfGhIj'],
    ['TURNPIKE_STRIPE_WEBHOOK_SECRET', 'whsec_'],
    ['TURNPIKE_STRIPE_API_URL', 'http://stripe.example.com'],
    ['TURNPIKE_STRIPE_API_URL', 'https://stripe.example.com/v1'],
    ['TURNPIKE_STRIPE_API_URL', 'https://user@stripe.example.com'],
    ['TURNPIKE_STRIPE_API_URL', 'stripe.example.com'],
    ['TURNPIKE_STRIPE_API_URL', ''],
  ])('if %s is %s, without showing it', (name, value) => {
    const { config, faults } = read({ ...whole, [name]: value });
    expect(faults).toEqual([expect.stringContaining(name)]);
    if (value.length > 10) expect(faults.join()).not.toContain(value);
    expect(config.stripe).toBeNull();
  });

  test('if only the address of the API is set', () => {
    const { faults } = read({ TURNPIKE_STRIPE_API_URL: 'http://127.0.0.1:1' });
    for (const name of Object.keys(whole)) expect(faults.join()).toContain(name);
  });
});
