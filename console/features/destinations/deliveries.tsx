// Deliveries: which event was sent to which destination, and with what result.

import type { DeliveryShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { deliveryStatusLabels, optionsOf } from '../../labels.ts';
import { useDestinationNames } from '../../names.ts';
import { type Column, DataTable, NameLink, NoRows, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter } from '../../parts/filter-chips.tsx';
import { foundDestinations } from '../../parts/found.ts';
import { ButtonLink, pathOf, TextLink } from '../../parts/link.tsx';
import { Hint, PageHead } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { type Rows, useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { EventText } from '../events/event-text.tsx';

const REFRESH_MS = 5_000;

export function DeliveryList() {
  const { destination, status } = useFilters().values;
  const query = { destination, status, ...rangeQuery(useRange()) };
  const rows = useList('/deliveries', { query, everyMs: REFRESH_MS });
  return (
    <>
      <PageHead
        title="Deliveries"
        text="Events sent to destinations, with their delivery attempts."
        actions={<ButtonLink label="Destinations" variant="default" icon="send" to="/destinations" />}
      />
      <FilterChips filters={deliveryFilters}>
        <RangeFields />
      </FilterChips>
      <DeliveryTable rows={rows} isOfRange />
    </>
  );
}

const deliveryFilters: readonly ListFilter[] = [
  { kind: 'found', name: 'destination', label: 'Destination', found: foundDestinations },
  { kind: 'options', name: 'status', label: 'Status', options: optionsOf(deliveryStatusLabels) },
];

interface DeliveryTableProps {
  rows: Rows<DeliveryShape>;
  /** All are of the same destination. */
  isOfOne?: boolean;
  isOfRange?: boolean;
}

export function DeliveryTable({ rows, isOfOne = false, isOfRange = false }: DeliveryTableProps) {
  const destinationName = useDestinationNames(isOfOne ? [] : rows.rows.map(({ destination }) => destination));
  const destination: Column<DeliveryShape> = {
    name: 'destination',
    label: 'Destination',
    from: 'md',
    show: (row) => (
      <TextLink to={pathOf.destination(row.destination)} size="sm">
        {destinationName(row.destination)}
      </TextLink>
    ),
  };
  return (
    <DataTable
      label="Deliveries"
      rows={rows}
      keyOf={({ id }) => id}
      linkTo={({ id }) => pathOf.delivery(id)}
      columns={[
        {
          name: 'event',
          label: 'Event',
          show: (row) => (
            <NameLink
              to={pathOf.delivery(row.id)}
              name={row.event.title}
              note={<EventText text={row.event.description} />}
            />
          ),
        },
        ...(isOfOne ? [] : [destination]),
        statusColumn(),
        { name: 'tries', label: 'Attempts', align: 'right', from: 'sm', show: ({ tries }) => tries },
        timeColumn<DeliveryShape>('created', 'Created', (row) => row.created_at, { from: 'sm', isRelative: true }),
        { name: 'next', label: 'Next attempt', from: 'lg', show: (row) => <NextAttempt delivery={row} /> },
      ]}
      empty={
        <NoRows
          of="deliveries"
          isOfRange={isOfRange}
          icon="send"
          title="No deliveries yet"
          text="Deliveries appear here when an event occurs or a test is sent."
        />
      }
    />
  );
}

export function NextAttempt({ delivery }: { delivery: DeliveryShape }) {
  if (delivery.next_attempt_at !== null) return <When at={delivery.next_attempt_at} isRelative />;
  return delivery.status === 'pending' && <Hint>Waits for an earlier event</Hint>;
}
