// People as a program of version 15 stored them, and what version 16 makes of them, the same for both databases. It has no tests
// of its own.

const EMAIL = 'ada@example.com';

/** Three people of an account, and two of the installation. */
const people = [
  { id: 1, accountId: 7, status: 'enabled', email: EMAIL, isClaimed: true },
  { id: 2, accountId: 7, status: 'invited', email: 'invited@example.com', isClaimed: false },
  { id: 3, accountId: 7, status: 'disabled', email: 'disabled@example.com', isClaimed: false },
  { id: 4, accountId: null, status: 'invited', email: 'viewer@example.com', isClaimed: true },
  { id: 5, accountId: null, status: 'disabled', email: 'former@example.com', isClaimed: true },
];

/** Statements that store them with an account. */
export const formerRows = [
  `INSERT INTO accounts (id, created_at_ms, document) VALUES (7, 1, '{"id":7}')`,
  ...people.map(({ id, accountId, status, email }) => {
    const role = accountId === null ? 'viewer' : 'member';
    const others = { linkExpiresAtMs: null, madeBy: 'tok_1', createdAtMs: id };
    const document = JSON.stringify({ id, accountId, role, email, name: '', status, ...others });
    return `INSERT INTO people (id, account_id, email, link_hash, role, status, created_at_ms, document)
      VALUES (${id}, ${accountId}, '${email}', 'link ${id}', '${role}', '${status}', ${id}, '${document}')`;
  }),
].join(';\n');

export const claimsOf = 'SELECT id, email FROM people ORDER BY id';

export const claimsAfter = people.map(({ id, email, isClaimed }) => ({ id, email: isClaimed ? email : null }));

/** Emails that people may claim now, each with who has it without claiming it. */
export const unclaimed = people
  .filter(({ isClaimed }) => !isClaimed)
  .map(({ id, email, status }) => ({ id, email, status: status as 'invited' | 'disabled' }));
