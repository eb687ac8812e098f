// A method and a path, as routes are named.

import { Badge, Group, Text } from '@mantine/core';

export function RequestPath({ method, path }: { method: string; path: string }) {
  return (
    <Group gap={8} wrap="nowrap" miw={0}>
      <Badge variant="light" color={method === 'GET' ? 'blue' : 'teal'} radius="sm" style={{ flexShrink: 0 }}>
        {method}
      </Badge>
      <Text span ff="monospace" fz="sm" style={{ overflowWrap: 'anywhere' }}>
        {path}
      </Text>
    </Group>
  );
}
