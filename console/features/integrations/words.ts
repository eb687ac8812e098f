// The purpose of each integration, and the names of its states.

import type { IntegrationShape } from '../../../src/admin-api/shapes.ts';

export type IntegrationId = IntegrationShape['id'];

export const integrationWords: Readonly<Record<IntegrationId, { title: string; text: string; test: string }>> = {
  mail: {
    title: 'Email',
    text: 'Sends invitations, password resets and notifications.',
    test: 'Send test email',
  },
  payments: {
    title: 'Payments',
    text: 'Account holders pay through Stripe.',
    test: 'Check Stripe account',
  },
  sign_in: {
    title: 'Single sign-on',
    text: 'People sign in through OpenID Connect. For SCIM, create an admin token with the role scim.',
    test: 'Fetch documents of issuers',
  },
  telemetry: {
    title: 'Telemetry',
    text: 'Sends traces and metrics to an OpenTelemetry collector.',
    test: 'Send test span',
  },
  storage: {
    title: 'Storage',
    text: 'Exports write their files to a store with the S3 protocol. Each export has its own store.',
    test: 'Write and delete test object',
  },
};

export const integrationStates = {
  not_set: { label: 'Not set', color: 'gray' },
  set: { label: 'Set, not tested', color: 'blue' },
  working: { label: 'Working', color: 'teal' },
  failing: { label: 'Failing', color: 'red' },
} as const;
