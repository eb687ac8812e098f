// What stands where there is nothing yet: what would be here, and what to do next.

import { Card, Group, Stack, Text, ThemeIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icon.tsx';

interface EmptyStateProps {
  icon: IconName;
  title: string;
  text: ReactNode;
  /** A button or a link. */
  action?: ReactNode;
}

export function EmptyState({ icon, title, text, action }: EmptyStateProps) {
  return (
    <Card withBorder p="xl">
      <Stack align="center" gap="sm" maw={520} mx="auto" ta="center">
        <ThemeIcon variant="light" size={48} radius="xl">
          <Icon name={icon} sizePx={26} />
        </ThemeIcon>
        <Text fw={600}>{title}</Text>
        <Text c="dimmed" size="sm" component="div">
          {text}
        </Text>
        {action !== undefined && <Group justify="center">{action}</Group>}
      </Stack>
    </Card>
  );
}
