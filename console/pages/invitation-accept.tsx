// To be.

export function InvitationAccept() {
  return <p>InvitationAccept</p>;
}
