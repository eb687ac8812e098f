// Invites several users, and shows the result of each row once.

import { Alert, Group, Stack, Table, Text, Textarea } from '@mantine/core';
import type { ImportedPeopleShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';
import { useForm } from '../../form.ts';
import { type Role, useBaseUrl, useMe } from '../../me.tsx';
import { csvLine, saveFile } from '../../parts/csv-button.tsx';
import { FormActions } from '../../parts/dialog-button.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { type FormStep, SecretSteps } from '../../parts/secret-once.tsx';
import { markSecretSaved, useShownSecret } from '../../unsaved.ts';
import { assignableRoles } from './invite.tsx';
import { readRows } from './read-rows.ts';
import { RoleFields, roleMembers } from './role-fields.tsx';

/** As many as one request takes. */
const ROWS_MAX = 100;

export function PeopleImport({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <SecretSteps
      isOpen={isOpen}
      onClose={onClose}
      title="Invite several users"
      size="xl"
      creates="POST /people/import"
      form={(step: FormStep<object>) => <ImportForm {...step} />}
      result={(imported, close) => <Results imported={imported} onDone={close} />}
    />
  );
}

function ImportForm({ onSubmit, isPending, failure }: FormStep<object>) {
  const me = useMe();
  const roles = assignableRoles(me.role);
  const form = useForm({ initialValues: { text: '', role: roles.at(-1) ?? ('member' as Role), account: '' } });
  const { text } = form.values;
  const rows = readRows(text);
  const tooMany = rows.length > ROWS_MAX ? `At most ${ROWS_MAX} users at a time.` : null;
  const submit = form.onSubmit(() =>
    onSubmit({ people: rows.map((row) => ({ ...row, ...roleMembers(form.values) })) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Hint>Each user gets a one-time link to set a password. It expires in 7 days.</Hint>
        <Textarea
          label="Users"
          description="One per line: an email address, and a name after a comma. You can paste columns of a table."
          placeholder={'ada@example.com, Ada Lovelace\ngrace@example.com'}
          rows={8}
          required
          data-autofocus
          error={tooMany}
          {...form.getInputProps('text')}
        />
        <RoleFields roles={roles} form={form} />
        <FailureNotice failure={failure} />
        <FormActions
          label={rows.length < 2 ? 'Create invitations' : `Create ${countOf(rows.length, 'invitation')}`}
          isPending={isPending}
          isDisabled={rows.length === 0 || tooMany !== null}
        />
      </Stack>
    </form>
  );
}

function Results({ imported, onDone }: { imported: ImportedPeopleShape; onDone: () => void }) {
  const { data, invited, refused } = imported;
  const baseUrl = useBaseUrl();
  const links = data.map(({ link_secret: secret }) =>
    secret === null ? '' : `${baseUrl}/console/invitation#${secret}`,
  );
  const hasLinks = links.some((link) => link !== '');
  return (
    <Stack>
      <Text role="status">{`${invited} invited, ${refused} refused`}</Text>
      {hasLinks && <LinksNote />}
      <Table.ScrollContainer minWidth={300} type="native">
        <Table aria-label="Results">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Email</Table.Th>
              <Table.Th>Result</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.map(({ email, error }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the rows never change, and an email may stand twice
              <Table.Tr key={at}>
                <Table.Td className="wrap">{email}</Table.Td>
                <Table.Td className="wrap">{error === null ? 'Invited' : error.message}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Group justify="flex-end">
        {hasLinks && <SaveLinks imported={imported} links={links} />}
        <ActionButton label="Done" onClick={onDone} />
      </Group>
    </Stack>
  );
}

function LinksNote() {
  useShownSecret();
  return (
    <Alert color="yellow" icon={<Icon name="warning" />}>
      The one-time links are shown only once. Download them before you close this dialog, unless this service sends them
      by email.
    </Alert>
  );
}

function SaveLinks({ imported: { data }, links }: { imported: ImportedPeopleShape; links: readonly string[] }) {
  const save = () => {
    const rows = data.map(({ email, error }, at) => csvLine([email, links[at], error?.message]));
    saveFile('invitations.csv', [csvLine(['email', 'link', 'error']), ...rows]);
    markSecretSaved();
  };
  return <ActionButton label="Download links" icon="download" isPrimary onClick={save} data-autofocus />;
}
