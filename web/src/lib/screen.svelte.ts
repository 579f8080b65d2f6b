// Whether the window is as narrow as a phone: tables become cards.
class Screen {
  private query = window.matchMedia('(max-width: 719px)');
  isNarrow = $state(this.query.matches);

  constructor() {
    this.query.addEventListener('change', () => (this.isNarrow = this.query.matches));
  }
}

export const screen = new Screen();
