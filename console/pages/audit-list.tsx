// To be.

export function AuditList() {
  return <p>AuditList</p>;
}
