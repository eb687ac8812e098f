// A part of a page under a heading of its own, with what can be done there beside it.

import { Card, Group, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionCardProps {
  title: string;
  text?: ReactNode;
  actions?: ReactNode;
  children?: ReactNode;
}

export function SectionCard({ title, text, actions, children }: SectionCardProps) {
  return (
    <Card withBorder padding="lg" component="section">
      <Stack gap="md">
        <Group justify="space-between" align="flex-start" gap="sm">
          <Stack gap={2} miw={0} style={{ flex: '1 1 260px' }}>
            <Title order={2} size="h4">
              {title}
            </Title>
            {text !== undefined && (
              <Text size="sm" c="dimmed" component="div">
                {text}
              </Text>
            )}
          </Stack>
          {actions !== undefined && <Group gap="xs">{actions}</Group>}
        </Group>
        {children}
      </Stack>
    </Card>
  );
}
