// The state of something in one word and one colour; never by the colour alone.

import { Badge } from '@mantine/core';

const colors: Readonly<Record<string, string>> = {
  enabled: 'teal',
  completed: 'teal',
  healthy: 'teal',
  invited: 'blue',
  disabled: 'gray',
  revoked: 'gray',
  expired: 'gray',
  client_gone: 'yellow',
  quota_cut: 'orange',
  service_cut: 'orange',
  upstream_cut: 'red',
  failed: 'red',
};

export function StatusBadge({ status, label }: { status: string; label: string }) {
  return (
    <Badge variant="light" color={colors[status] ?? 'gray'} tt="none" fw={600} miw="max-content">
      {label}
    </Badge>
  );
}
