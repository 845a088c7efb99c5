"""scikit-learn faces: a problem, a method and a way to predict."""
