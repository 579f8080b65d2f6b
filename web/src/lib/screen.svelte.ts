// How wide the window is: with less than 900 pixels tables of jobs become cards.
class Screen {
  private phone = window.matchMedia('(max-width: 719px)');
  private tablet = window.matchMedia('(max-width: 899px)');
  isPhone = $state(this.phone.matches);
  hasCards = $state(this.tablet.matches);

  constructor() {
    this.phone.addEventListener('change', () => (this.isPhone = this.phone.matches));
    this.tablet.addEventListener('change', () => (this.hasCards = this.tablet.matches));
  }
}

export const screen = new Screen();
