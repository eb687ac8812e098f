// The words for destinations, and what may be done with them.

import type { DestinationShape, MeShape } from '../../../src/admin-api/shapes.ts';

export const kindLabels = { webhook: 'Webhook', slack: 'Slack-compatible', mail: 'Mail' } as const;

export const addressTexts = {
  webhook: {
    label: 'URL',
    description: 'Gets a POST with JSON and signatures (Standard Webhooks). Must be public and begin with https://.',
    placeholder: 'https://example.com/turnpike',
  },
  slack: {
    label: 'URL of the incoming webhook',
    description: 'Of Slack, or of a chat that accepts the same format. It is secret and is not shown again.',
    placeholder: 'https://hooks.slack.com/services/…',
  },
  mail: {
    label: 'Email',
    description: 'Each mail has a link to unsubscribe, except those about security.',
    placeholder: 'ada@example.com',
  },
} as const;

export function nameOfDestination({ name, address }: Pick<DestinationShape, 'name' | 'address'>): string {
  return name === '' ? address : name;
}

export function managesDestinations({ role }: Pick<MeShape, 'role'>): boolean {
  return role === 'operator' || role === 'owner';
}
