// The entries of the journal that a request made, and whether they add up to what its record says was taken.

import { Alert, Box, Table, Text } from '@mantine/core';
import type { EntryShape, PageShape, ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { Money, nanoOf, usdOf } from '../../parts/money.tsx';
import { Section } from '../../parts/section.tsx';
import { Waiting } from '../../parts/waiting.tsx';
import { When } from '../../parts/when.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

const { request: its } = words;

export function RequestEntries({ receipt }: { receipt: ReceiptShape }) {
  const query = { request: receipt.request_id };
  const { data, error, refetch } = useAsk<PageShape<EntryShape>>(`/accounts/${receipt.account}/entries`, query);
  return (
    <Section title={its.entries} text={its.entriesText} isPadded={false}>
      {error !== null && (
        <Box px="md" pb="md">
          <FailureNotice failure={error} onRetry={() => void refetch()} />
        </Box>
      )}
      {error === null && data === undefined && <Waiting rowCount={2} />}
      {data?.data.length === 0 && (
        <Text size="sm" c="dimmed" px="md" pb="md">
          {its.noEntries}
        </Text>
      )}
      {data !== undefined && data.data.length > 0 && <Entries page={data} receipt={receipt} />}
    </Section>
  );
}

function Entries({ page, receipt }: { page: PageShape<EntryShape>; receipt: ReceiptShape }) {
  const sum = page.data.reduce((total, { change }) => total + nanoOf(change), 0n);
  const agrees = page.next_cursor !== null || -sum === nanoOf(receipt.cost) - nanoOf(receipt.written_off);
  return (
    <>
      <Table.ScrollContainer minWidth={0}>
        <Table aria-label={its.entries} verticalSpacing={6} horizontalSpacing="md">
          <Table.Tbody>
            {page.data.toReversed().map((entry) => (
              <EntryRow key={entry.seq} entry={entry} />
            ))}
            <Table.Tr fw={650}>
              <Table.Td>{its.entrySum}</Table.Td>
              <Table.Td visibleFrom="sm" />
              <Table.Td ta="right">
                <Money usd={usdOf(sum)} />
              </Table.Td>
            </Table.Tr>
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      {!agrees && (
        <Alert m="md" mt={0} p="sm" color="red" variant="light">
          {its.entryDiffers}
        </Alert>
      )}
    </>
  );
}

function EntryRow({ entry: { at, kind, change, amount, note } }: { entry: EntryShape }) {
  return (
    <Table.Tr>
      <Table.Td>
        {words.entryKinds[kind]}
        <Text size="xs" c="dimmed" hiddenFrom="sm">
          <When at={at} isInRow />
        </Text>
        {note !== null && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {note}
          </Text>
        )}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        <When at={at} isPrecise />
      </Table.Td>
      <Table.Td ta="right">
        {kind === 'write_off' ? <Money usd={amount} c="dimmed" td="line-through" /> : <Money usd={change} />}
      </Table.Td>
    </Table.Tr>
  );
}
