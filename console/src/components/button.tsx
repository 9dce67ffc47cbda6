import type { ComponentChildren } from 'preact';
import { type Scope, useMay } from '../app/caller.tsx';
import { Icon, type IconName } from './icon.tsx';

/** A button. `isBusy`: it waits for the service and cannot be pressed again. */
export function Button(props: {
  children?: ComponentChildren;
  onClick?: (event: MouseEvent) => void;
  kind?: 'main' | 'quiet' | 'danger';
  type?: 'button' | 'submit';
  icon?: IconName;
  /** Read instead of the text; needed when there is none. */
  label?: string;
  isBusy?: boolean;
  isDisabled?: boolean;
  /** What one must be allowed to do; others do not see the button. */
  scope?: Scope;
  /** Whether it is pressed, for a button that switches. */
  isPressed?: boolean;
}) {
  const {
    children,
    onClick,
    kind = 'quiet',
    type = 'button',
    icon,
    label,
    isBusy,
    isDisabled,
    isPressed,
  } = props;
  if (!useMay()(props.scope)) return null;
  return (
    <button
      type={type}
      class={`button ${kind} ${children === undefined ? 'only-icon' : ''}`}
      onClick={onClick}
      aria-label={label}
      title={children === undefined ? label : undefined}
      aria-busy={isBusy}
      aria-pressed={isPressed}
      disabled={isBusy || isDisabled}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}
