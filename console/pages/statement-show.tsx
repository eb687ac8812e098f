// To be.

export function StatementShow() {
  return <p>StatementShow</p>;
}
