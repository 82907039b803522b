import { Component, type ReactNode } from "react";
import { Button } from "./controls.tsx";
import { Failure } from "./page.tsx";

/**
 * A defect of a page, code that could not be loaded, or a page of a version that is gone must not leave a blank one. At another place it
 * begins anew.
 */
export class Unbroken extends Component<{ place: string; children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override componentDidUpdate({ place }: { place: string }) {
    if (place !== this.props.place && this.state.error !== null) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const why = error instanceof Error ? error.message : String(error);
    return (
      <main className="alone" id="content">
        <h1>This page broke</h1>
        <Failure
          message={{
            title: "Reload to go on",
            text: navigator.onLine ? why : "You are offline: it could not be loaded.",
          }}
          actions={<Button onClick={() => location.reload()}>Reload</Button>}
        />
      </main>
    );
  }
}
