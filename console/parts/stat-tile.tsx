// One figure with its name, and how it compares.

import { Card, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface StatTileProps {
  label: string;
  value: ReactNode;
  /** A line below: a comparison, a share, a unit. */
  note?: ReactNode;
  /** A small picture of its course. */
  picture?: ReactNode;
  color?: string;
}

export function StatTile({ label, value, note, picture, color }: StatTileProps) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Group justify="space-between" align="flex-end" wrap="nowrap" mt={2}>
        <Text fz={26} fw={650} lh={1.2} className="tabular" {...(color !== undefined && { c: color })}>
          {value}
        </Text>
        {picture}
      </Group>
      {note !== undefined && (
        <Text size="xs" c="dimmed" mt={4} component="div">
          {note}
        </Text>
      )}
    </Card>
  );
}
