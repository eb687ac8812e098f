// What each of some roles may do, in a few words.

import { Alert, List } from '@mantine/core';
import type { Role } from '../me.tsx';
import { words } from '../words.ts';

export function RoleTexts({ roles }: { roles: readonly Role[] }) {
  return (
    <Alert variant="light" color="gray" title={words.people.rolesTitle} p="sm">
      <List size="sm" spacing={2}>
        {roles.map((role) => (
          <List.Item key={role}>
            <b>{words.roles[role]}</b>: {words.roleTexts[role]}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
