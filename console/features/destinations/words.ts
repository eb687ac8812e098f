// The words for destinations, and what may be done with them.

import type { DestinationShape, MeShape } from '../../../src/admin-api/shapes.ts';

export const kindLabels = { webhook: 'Webhook', slack: 'Slack-compatible', mail: 'Email' } as const;

export const addressTexts = {
  webhook: {
    label: 'URL',
    description: 'Receives signed JSON by POST (Standard Webhooks). Must be public and start with https://.',
    placeholder: 'https://example.com/turnpike',
  },
  slack: {
    label: 'URL of the incoming webhook',
    description: 'From Slack, or a chat that accepts its format. The URL is a secret and is not shown again.',
    placeholder: 'https://hooks.slack.com/services/…',
  },
  mail: {
    label: 'Email',
    description: 'Each email has an unsubscribe link, except security emails.',
    placeholder: 'ada@example.com',
  },
} as const;

export function nameOfDestination({ name, address }: Pick<DestinationShape, 'name' | 'address'>): string {
  return name === '' ? address : name;
}

export function managesDestinations({ role }: Pick<MeShape, 'role'>): boolean {
  return role === 'operator' || role === 'owner';
}
