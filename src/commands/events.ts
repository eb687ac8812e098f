// The table of the commands on events, destinations and deliveries, as in resources.ts.

import { type ApiCommand, apiCommand, describe, type FieldFlag, flag, LIST_ROWS_DEFAULT } from './api-command.ts';
import type { Command } from './command.ts';
import { choice, list, text } from './flags.ts';
import { type Column, columns } from './output.ts';

const KEEP_SECRET = 'Keep the secret now: it is not shown again.\n';

const destinationColumns: readonly Column[] = columns('id account kind name address types status failing_since');
const destinationDetails: readonly Column[] = [
  ...destinationColumns,
  ...columns('disabled_reason last_delivered_at former_secret_expires_at created_at'),
];
const eventOf = (member: string) => (row: Record<string, unknown>) =>
  String((row['event'] as Record<string, unknown>)[member]);
const deliveryColumns: readonly Column[] = [
  ...columns('id destination'),
  ['EVENT', eventOf('id')],
  ['TYPE', eventOf('type')],
  ...columns('status tries created_at next_attempt_at done_at'),
];

const changeFlags: Record<string, FieldFlag> = {
  name: flag('N', 'name', text, 'its name'),
  types: flag('A,B.*', 'types', list, 'the types of events that it gets, such as "payment.*"; "*": all'),
};

export const eventTable: readonly ApiCommand[] = [
  describe('event list', 'lists events, newest first', 'GET /events', {
    flags: {
      account: flag('ID', 'account', text, 'only events about this account'),
      type: flag('TYPE', 'type', text, 'only events of this type'),
    },
    columns: columns('id timestamp account type description'),
    rowsDefault: LIST_ROWS_DEFAULT,
    whenEmpty: 'There are no events.',
  }),
  describe('destination create', 'creates a destination for events', 'POST /destinations', {
    flags: {
      kind: {
        ...flag('KIND', 'kind', choice(['webhook', 'slack', 'mail']), 'webhook, slack or mail (required)'),
        isRequired: true,
      },
      address: { ...flag('URL', 'address', text, 'its URL or email address (required)'), isRequired: true },
      types: { ...(changeFlags['types'] as FieldFlag), isRequired: true },
      name: changeFlags['name'] as FieldFlag,
      account: flag('ID', 'account', text, 'the account whose events it gets (default: all events, for operators)'),
    },
    columns: [...destinationDetails, ...columns('secret')],
    advice: KEEP_SECRET,
  }),
  describe('destination list', 'lists the destinations of events', 'GET /destinations', {
    flags: { account: flag('ID', 'account', text, 'only destinations of this account') },
    columns: destinationColumns,
    rowsDefault: LIST_ROWS_DEFAULT,
    whenEmpty: 'There are no destinations: create one with "turnpike destination create".',
  }),
  describe('destination show DESTINATION', 'shows a destination', 'GET /destinations/{id}', {
    columns: destinationDetails,
  }),
  describe('destination update DESTINATION', 'changes a destination', 'PATCH /destinations/{id}', {
    flags: {
      ...changeFlags,
      address: flag('URL', 'address', text, 'its URL or email address'),
      status: flag('STATUS', 'status', choice(['enabled', 'disabled']), 'enabled or disabled'),
    },
    needsChange: true,
    columns: destinationDetails,
  }),
  describe('destination rotate DESTINATION', 'replaces the secret of a webhook', 'POST /destinations/{id}/rotate', {
    columns: [...destinationDetails, ...columns('secret')],
    advice: KEEP_SECRET,
  }),
  describe('destination test DESTINATION', 'sends a test event to a destination', 'POST /destinations/{id}/test', {
    columns: destinationDetails,
  }),
  describe('delivery list', 'lists deliveries of events, newest first', 'GET /deliveries', {
    flags: {
      destination: flag('ID', 'destination', text, 'only deliveries to this destination'),
      status: flag('STATUS', 'status', choice(['pending', 'delivered', 'failed']), 'only deliveries of this status'),
    },
    columns: deliveryColumns,
    rowsDefault: LIST_ROWS_DEFAULT,
    whenEmpty: 'There are no deliveries.',
  }),
  describe('delivery show DELIVERY', 'shows a delivery with its attempts', 'GET /deliveries/{id}', {
    columns: [...deliveryColumns, ['ATTEMPTS', (row) => JSON.stringify(row['attempts'])]],
  }),
  describe('delivery redeliver DELIVERY', 'sends an event again', 'POST /deliveries/{id}/redeliver', {
    columns: deliveryColumns,
  }),
];

export const eventCommands: readonly Command[] = eventTable.map(apiCommand);
