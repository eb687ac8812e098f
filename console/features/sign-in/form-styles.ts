// The styles of the sign-in form, which needs none of the other pages.

export const formStyles = `
.si {
  display: flex;
  flex-direction: column;
  justify-content: center;
  gap: 20px;
  box-sizing: border-box;
  width: 100%;
  max-width: 452px;
  min-height: 100dvh;
  margin: auto;
  padding: 16px;
  color: light-dark(#000, #c9c9c9);
  font: 16px / 1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
/* Until the library sets them, its styles leave these empty. */
:root:not([data-mantine-color-scheme]) body {
  background: light-dark(#fff, #242424);
}
.si * {
  box-sizing: border-box;
}
.si-name {
  display: flex;
  justify-content: center;
  align-items: center;
  gap: 8px;
  min-height: 28px;
  font-size: 18px;
  font-weight: 700;
}
.si-name img {
  height: 28px;
  max-width: 120px;
}
.si-footer {
  display: flex;
  flex-wrap: wrap;
  justify-content: center;
  gap: 10px;
  font-size: 14px;
}
.si-card {
  padding: 20px;
  border: 1px solid light-dark(#dee2e6, #424242);
  border-radius: 8px;
  background: light-dark(#fff, #2e2e2e);
}
.si-card,
.si-stack,
.si-others {
  display: flex;
  flex-direction: column;
  gap: 12px;
}
.si h1 {
  margin: 0;
  font-size: 22px;
  font-weight: 650;
  line-height: 1.35;
}
.si p {
  margin: 0;
  font-size: 14px;
  color: light-dark(#495057, #b8b8b8);
}
.si-others {
  font-size: 14px;
}
.si-others p {
  font-size: 12px;
}
.si a,
.si-link {
  color: light-dark(#0b7a75, #52c9be);
}
.si a:not(:hover) {
  text-decoration: none;
}
.si label span {
  display: block;
  font-size: 14px;
  font-weight: 500;
}
.si input {
  width: 100%;
  height: 36px;
  padding: 0 12px;
  border: 1px solid light-dark(#ced4da, #424242);
  border-radius: 8px;
  background: light-dark(#fff, #2e2e2e);
  color: inherit;
  font: inherit;
  font-size: 14px;
}
.si-password {
  position: relative;
}
.si-password input {
  padding-right: 36px;
}
.si button:not(.si-link, .si-show) {
  height: 36px;
  padding: 0 18px;
  border: 0;
  border-radius: 8px;
  background: #0b7a75;
  color: #fff;
  font: inherit;
  font-size: 14px;
  font-weight: 600;
  cursor: pointer;
}
.si button.si-other.si-other {
  width: 100%;
  border: 1px solid light-dark(#ced4da, #424242);
  background: light-dark(#fff, #2e2e2e);
  color: inherit;
}
.si button:disabled {
  opacity: 0.6;
}
.si-show {
  position: absolute;
  right: 4px;
  bottom: 4px;
  width: 28px;
  height: 28px;
  border: 0;
  border-radius: 6px;
  background: none;
  color: inherit;
  cursor: pointer;
}
.si-show::before {
  content: "";
  display: block;
  width: 14px;
  height: 9px;
  margin: auto;
  border: 1.6px solid;
  border-radius: 70% / 100%;
  background: radial-gradient(circle, currentColor 2px, transparent 2.6px);
}
.si-show[aria-pressed="true"]::before {
  background: none;
}
.si-link {
  padding: 0;
  border: 0;
  background: none;
  font: inherit;
  font-size: 14px;
  cursor: pointer;
}
.si-row {
  display: flex;
  justify-content: space-between;
}
.si :is(input, button, a):focus-visible {
  outline: 2px solid light-dark(#0b7a75, #52c9be);
  outline-offset: 2px;
}
.si-alert,
.si-note {
  padding: 12px;
  border-radius: 8px;
  font-size: 14px;
  background: light-dark(#fff0f0, #3b2525);
  color: light-dark(#a92222, #ffa8a8);
}
.si-note {
  background: light-dark(#e6fbf9, #1f3634);
  color: inherit;
}
.si-or {
  display: flex;
  align-items: center;
  gap: 10px;
  font-size: 12px;
  color: light-dark(#495057, #b8b8b8);
}
.si-or::before,
.si-or::after {
  content: "";
  flex: 1;
  border-top: 1px solid light-dark(#dee2e6, #424242);
}
`;
