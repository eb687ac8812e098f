// The product's sign and name.

import { Group, Text } from '@mantine/core';
import { words } from '../words.ts';

export function Mark() {
  return (
    <Group gap={8} wrap="nowrap">
      <svg width="28" height="28" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="7" fill="var(--mantine-primary-color-filled)" />
        <circle cx="9" cy="22" r="4" fill="#fff" />
        <path d="M9 22 27 10" stroke="#fff" strokeWidth="3.4" strokeLinecap="round" />
        <path d="M19.6 12.2l3.2 4.8" stroke="var(--mantine-primary-color-filled)" strokeWidth="2.4" />
      </svg>
      <Text fw={700} fz="lg" lts={-0.3}>
        {words.product}
      </Text>
    </Group>
  );
}
