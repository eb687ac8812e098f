// One destination: its settings, what is wrong with it, and its latest deliveries.

import { Alert, Code, Group, Stack } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { DestinationShape } from '../../../src/admin-api/shapes.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useActors, useNames } from '../../names.ts';
import { Icon, TextLink } from '../../parts/link.tsx';
import { Facts, Heading, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet, useList } from '../../queries.ts';
import { EditDestination, RotateSecret, SendTest, ToggleDestination } from './actions.tsx';
import { DeliveryTable } from './deliveries.tsx';
import { TypeSummary } from './event-types.tsx';
import { DestinationStatus } from './list.tsx';
import { kindLabels, managesDestinations, nameOfDestination } from './words.ts';

const REFRESH_MS = 3_000;
const SHOWN_MAX = 20;

export function DestinationShow() {
  const { destinationId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useGet('/destinations/{id}', { id: destinationId, everyMs: REFRESH_MS });
  if (data !== undefined && data.id === destinationId) return <Details destination={data} />;
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  return <Loading />;
}

function Details({ destination }: { destination: DestinationShape }) {
  const me = useMe();
  const rows = useList('/deliveries', {
    query: { destination: destination.id, limit: SHOWN_MAX },
    everyMs: REFRESH_MS,
  });
  return (
    <Stack gap="lg">
      <div>
        <PageHead
          title={nameOfDestination(destination)}
          text={
            <Group gap="xs">
              <DestinationStatus row={{ ...destination, disabled_reason: null, unsubscribed_at: null }} />
              <Code>{destination.id}</Code>
            </Group>
          }
          actions={managesDestinations(me) && <Actions destination={destination} />}
        />
        <Notices destination={destination} />
      </div>
      <Section title="Settings">
        <Settings destination={destination} />
      </Section>
      <div>
        <Group justify="space-between" mb="xs">
          <Heading>Latest deliveries</Heading>
          <TextLink size="sm" to="/deliveries" search={{ destination: destination.id }}>
            View all
          </TextLink>
        </Group>
        <DeliveryTable rows={{ ...rows, showMore: null }} isOfOne />
      </div>
    </Stack>
  );
}

function Actions({ destination }: { destination: DestinationShape }) {
  return (
    <>
      <EditDestination destination={destination} />
      <ToggleDestination destination={destination} />
      {destination.kind === 'webhook' && <RotateSecret destination={destination} />}
      {destination.status === 'enabled' && <SendTest destination={destination} />}
    </>
  );
}

function Notices({ destination }: { destination: DestinationShape }) {
  const { status, disabled_reason, failing_since, former_secret_expires_at, unsubscribed_at } = destination;
  const isFailing = status === 'enabled' && failing_since !== null;
  return (
    <Stack gap="xs">
      {status === 'disabled' && (
        <Alert color="yellow" icon={<Icon name="warning" />}>
          {disabled_reason === null
            ? 'This destination is disabled. Nothing is sent.'
            : `The service disabled this destination: ${disabled_reason}. Pending deliveries are sent when you enable it again.`}
        </Alert>
      )}
      {isFailing && (
        <Alert color="red" icon={<Icon name="warning" />}>
          All attempts have failed since <When at={failing_since} />. Deliveries are retried for three days. Then the
          destination is disabled.
        </Alert>
      )}
      {unsubscribed_at !== null && (
        <Alert color="gray" icon={<Icon name="warning" />}>
          The recipient unsubscribed on <When at={unsubscribed_at} /> and receives only security emails. They can
          resubscribe with the link in an email.
        </Alert>
      )}
      {former_secret_expires_at !== null && (
        <Alert color="gray" icon={<Icon name="key" />}>
          Webhooks are also signed with the previous secret until <When at={former_secret_expires_at} />.
        </Alert>
      )}
    </Stack>
  );
}

function Settings({ destination }: { destination: DestinationShape }) {
  const me = useMe();
  const names = useNames([{ account: destination.account, key: null }]);
  const actorName = useActors([destination.made_by]);
  const account = destination.account === null ? 'Operators' : names.account(destination.account);
  return (
    <Facts
      facts={[
        { name: 'Kind', value: kindLabels[destination.kind] },
        { name: 'Address', value: destination.address },
        seesInstallation(me) ? { name: 'Account', value: account } : null,
        { name: 'Events', value: <TypeSummary patterns={destination.types} isWhole /> },
        { name: 'Last delivery', value: <When at={destination.last_delivered_at} /> },
        { name: 'Created', value: <When at={destination.created_at} /> },
        { name: 'Created by', value: actorName(destination.made_by) },
      ]}
    />
  );
}
